# SPDX-License-Identifier: MIT
"""Every command of a README or a page is run, most without optimisation, in a copy of the tree for each page: `$ `
begins it, what follows is what it says, with … for what varies. What is built for a GPU is compiled, linked, and
asked where there is no GPU.

    commands.py BUILD [PATTERN]       with the programs of a build folder; only pages whose path holds PATTERN
                                      (default: README.md and a third of the others, by commit: tests/part.py)

Tables below say what is done instead of a command, and which cannot be run here, and why. A row that fits no command
fails, as does a command line without its `$ `."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tests"))
from part import mine  # noqa: E402

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
COMMAND = re.compile(r"^( +)\$ ((?:.*\\\n)*.*)\n((?:\1(?!\$ ).*\n)*)", re.M)
BARE = re.compile(r"^ {4,}((?:\w+=\S* )*(?:\./|tests/|build/|(?:cc|c\+\+|nvcc|clang\+\+\S*|hipcc|python3|meson|ninja|"
                  r"cmake|apt-get|export|git|mpirun|torchrun|srun|gdb|sudo)(?: |$)).*)", re.M)
FENCED = re.compile(r"^( *)```.*?^\1```$", re.M | re.S)

# Commands that are not run, by what they hold, and why.
NOT_HERE = {
    r"^\./run test": "the suite that this is a part of",
    r"^tests/gpu/run\.sh|^build-gpu/": "needs GPUs, and minutes of compilers",
    r"\| git apply$|all_gather_star|, 8 ranks, full": "tests/docs/variant.py applies that page's diff and generates",
    r"53_torch/average\.py": "needs PyTorch or NumPy; the test of that example says whether they are here",
    r"\bgdb \./": "a debugger in somebody's hands",
    r"comm=16,width=256": "a row for a GPU's many workgroups",
    r"\biris_plot\b": "tests/bench/plot.py draws, where matplotlib is",
    r"tests/trace/look\.py": "needs a browser, and Perfetto's interface",
}
# What need not be everywhere; a command that begins with it is left out where it is not.
OPTIONAL = ("nvcc", "clang++-22", "mpirun", "torchrun", "srun")
# (page, what a command holds, what stands there instead)
INSTEAD = (
    ("", r"/path/to/your/project", r"project"),
    ("add-to-a-project", r"^cc -O2 -I\. app\.c", r"cp app.c project && cd project && cc -O2 -I. app.c"),
    ("add-to-a-project", r"--prefix=/usr/local", r"--prefix=$PWD/usr_local"),
    ("add-to-a-project", r"^(nvcc) ", r"installed nvidia && nvcc "),
    ("add-to-a-project", r"^(clang\S+) ", r"installed amd && \1 "),
    ("", r"/etc/iris/our_cluster.txt", r"rows.txt"),
    ("tune-for-your-machine", r"^cc -O2 .* -o iris-tune$", r"ln -s $IRIS_BUILD/tests/bench/iris-tune iris-tune"),
    ("", r"^\./run demo(?! -)", r"./run demo --repeats 1 --shape 96x80x64"),  # seven large shapes
    ("", r"--shape 1024x1024x3584", r"--repeats 1 --shape 102x102x358"),
    ("", r"--shape 1000x777x512", r"--repeats 1 --shape 100x77x51"),
    ("", r"^meson compile -C build 07_gemm_all_scatter", r"test -x build/examples/07_gemm_all_scatter"),
    # The library's host code, which is most of what these compile, takes a fifth of the time without optimisation; of
    # kernels that would take an AMD compiler minutes.
    ("", r"^(cc|c\+\+|nvcc) (.*)-O2\b", r"\1 \2-O0"),
    ("", r"^(clang\S+) (.*)-O2\b", r"\1 \2-Xarch_host -O0 -Xarch_device -O1"),
    ("", r'^I="-O2\b', 'I="'),
    ("", r"^(nvcc|cc) \$I ", r"\1 -O0 $I "),
    ("", r"^(clang\S+) \$I ", r"\1 -Xarch_host -O0 -Xarch_device -O1 $I "),
    ("", r"^meson setup build", "meson setup build -Doptimization=0"),
)
# Programs that exit with another status than 0, as the page says.
FAILS = (r"\./hang$", r"\./wrong$", r"HEAP_MB=2 \./heap$", r"\./traced_hang$")
PRELUDE = r"""
set -e
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export PKG_CONFIG_PATH=$(echo "$PWD"/usr_local/lib*/pkgconfig "$PWD"/usr_local/lib/*/pkgconfig | tr ' ' ':')
installed() {
    meson setup build_$1 --prefix=$PWD/usr_$1 --libdir lib -Dtests=false -Dtarget=$1 -Doptimization=0 >/dev/null
    meson install -C build_$1 >/dev/null
    export PKG_CONFIG_PATH=$PWD/usr_$1/lib/pkgconfig
}
"""


def sources(tree):
    """A copy of the tree without what was built. Example 07 holds kernels of one type, since four take minutes."""
    ignore = shutil.ignore_patterns(".git", "build", "build-*", "__pycache__", "results", "_build")
    shutil.copytree(ROOT, tree, ignore=ignore)
    file = tree / "examples/07_gemm_all_scatter/main.c"
    text = re.sub(r"#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_(?!F32\n)\w+\n", "", file.read_text(encoding="utf-8"))
    file.write_text(re.sub(r"LAUNCHERS\((?!d\))\w+\)", "LAUNCHERS(f32)", text), encoding="utf-8")


def given(tree, build, page, commands):
    """What a page takes for granted: a program in app.c, and built programs where it does not build them itself."""
    made = " ".join(commands)
    shutil.copy(ROOT / "examples/00_pass_right/main.c", tree / "app.c")
    if "meson setup build" not in made:
        (tree / "build").mkdir()
        (tree / "build/examples").symlink_to(build / "examples")
        if "--out build/include" not in made:
            (tree / "build/include").symlink_to(build / "include")
    for name, program in (("hang", "hang"), ("joined", "joined"), ("app", "gemm")):
        if name == "app" or not any(c.endswith(f" -o {name}") for c in commands):
            (tree / name).symlink_to(build / f"tests/docs/docs_{program}")
    (tree / "rows.txt").write_text("pattern=fused_sequential\n", encoding="utf-8")


def platform_of(command):
    """(platform, program) of a command that links one for a GPU."""
    program = re.search(r" -o (\w+)(?: |$)", command)
    kind = "nvidia" if re.search(r"\bnvcc\b", command) else "amd" if " -x hip " in command else None
    return (kind, program[1]) if kind and program and " -c " not in command else (None, None)


def plain(text):
    """Words; of a failure that several ranks can be the first to tell, without the function that it came out of."""
    return re.sub(r"\biris: iris_\w+(\(w\))? failed: ", "", " ".join(text.split()))


def run(script, tree, env, timeout=1200):
    done = subprocess.run(["bash", "-c", script], cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=timeout)
    return done.returncode, done.stdout


class Page:
    def __init__(self, path, build):
        text = path.read_text(encoding="utf-8")
        self.name, self.build = str(path.relative_to(ROOT)), build
        self.commands = [(re.sub(r"\s+#.*", "", re.sub(r"\\\n\s*", "", m[2])).strip(), m[3])
                         for m in COMMAND.finditer(text)]
        prose = FENCED.sub("", text)
        self.problems = [f"`{line}` is a command without `$ `" for line in BARE.findall(COMMAND.sub("", prose))]
        self.problems += [f"`{c}` compiles for a Hopper without its matrix loop: code=sm_90a" for c, _ in self.commands
                          if re.search(r"sm_90\b", c)]
        self.used, self.ran = set(), 0

    def left_out(self, command):
        for pattern, why in NOT_HERE.items():
            if re.search(pattern, command):
                self.used.add(pattern)
                return why
        tool = next((t for t in OPTIONAL if re.match(rf"{re.escape(t)} ", command) and not shutil.which(t)), None)
        if tool == "nvcc" or tool is None:
            return "nvcc is not here" if tool else None
        return f"{tool} is not here"

    def instead(self, command):
        for i, (page, pattern, there) in enumerate(INSTEAD):
            if page in self.name and re.search(pattern, command):
                self.used.add(i)
                command = re.sub(pattern, there, command)
        return command

    def try_all(self, env):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder, "iris")
            sources(tree)
            given(tree, self.build, self.name, [c for c, _ in self.commands])
            before = PRELUDE  # variables that earlier commands have set stay set
            for command, says in self.commands:
                why = self.left_out(command)
                tests = re.match(r"meson test -C build '(.*)'$", command)
                if why or tests:
                    self.instead(command)  # the row is in use, also where a tool is not here
                    known = json.loads((self.build / "meson-info/intro-tests.json").read_text()) if tests else []
                    if tests and tests[1] not in [t["name"] for t in known]:
                        self.problems.append(f"`{command}` names a test that is not there")
                    print(f"   left out: {command} ({why or 'the suite runs it'})")
                    continue
                self.ran += 1
                self.one(command, says, before, tree, env)
                if re.match(r"(export )?\w+=\S*( \w+=\S*)*$|\w+=\"", command):
                    before += self.instead(command) + "\n"

    def one(self, command, says, before, tree, env):
        begun = sum(os.times()[2:4])  # of children
        status, said = run(f"{before}\n{self.instead(command)}\n", tree, env)
        wanted = [line for line in map(plain, says.split("\n")) if line and "…" not in line]
        missing = [line for line in wanted if line not in plain(said)]
        if (status != 0) != any(re.search(p, command) for p in FAILS):
            self.problems.append(f"`{command}` ended with {status}\n{said[-2000:]}")
        elif missing:
            self.problems.append(f"`{command}` does not say '{missing[0]}' but\n{said[-2000:]}")
        platform, program = platform_of(command)
        if platform and status == 0 and not any(map(os.path.exists, ("/dev/kfd", "/dev/nvidiactl"))):
            _, said = run(f"./{program}", tree, env)
            if not said.startswith(f"platform: {platform}\n") or "there is no GPU on this machine" not in said:
                self.problems.append(f"`{command}` makes a program that says, without a GPU, '{said[:400]}'")
        print(f"   ran, {sum(os.times()[2:4]) - begun:.0f} CPU seconds: {command}", flush=True)


def main():
    build, only = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else ""
    path = os.environ["PATH"] + ":/usr/local/cuda/bin"
    os.environ["PATH"] = path
    env = {k: v for k, v in os.environ.items() if not k.startswith(("IRIS_", "MESON"))}
    env.update(IRIS_BUILD=str(build), PYTHONDONTWRITEBYTECODE="1")
    nvcc = shutil.which("nvcc")
    if nvcc and "--Ofast-compile" in subprocess.run([nvcc, "--help"], capture_output=True, text=True).stdout:
        env["NVCC_APPEND_FLAGS"] = "-Ofc=max"
    pages, used, problems = [Page(p, build) for p in PAGES], set(), []
    now = [p.name for p in pages if only in p.name] if only else ["README.md", *mine([p.name for p in pages], 3)]
    if only and not any(p.commands for p in pages if p.name in now):
        problems.append(f"no page that has commands has a path that holds '{only}'")
    for page in pages:
        if page.commands and page.name in now:
            print(page.name, flush=True)
            page.try_all(env)
        else:  # tables fit commands of all pages
            for command, _ in page.commands:
                page.left_out(command), page.instead(command)
        used |= page.used
        problems += [f"{page.name}: {p}" for p in page.problems]
    if not only:
        problems += [f"NOT_HERE['{p}'] fits no command any more" for p in NOT_HERE if p not in used]
        problems += [f"INSTEAD row '{row[1]}' fits no command any more"
                     for i, row in enumerate(INSTEAD) if i not in used]
    print("\n".join(problems) or f"{sum(p.ran for p in pages)} commands do what their pages say")
    return 1 if problems else 0


sys.exit(main())
