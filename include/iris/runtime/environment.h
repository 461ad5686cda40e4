/* SPDX-License-Identifier: MIT */
/*
 * environment.h: a part of init.c: the variables that this library knows, and a warning about those that it does not.
 */
#ifndef IRIS_RUNTIME_ENVIRONMENT_H
#define IRIS_RUNTIME_ENVIRONMENT_H
#ifdef IRIS_INIT_C

#include <iris/runtime/world_state.h>

static const char *const irisi_variables[] = {
    "IRIS_RANK",        "IRIS_WORLD", "IRIS_HOST",    "IRIS_PORT",      "IRIS_JOB",  "IRIS_TOKEN",
    "IRIS_HEAP_MB",     "IRIS_HEAP",  "IRIS_SYNC_MB", "IRIS_HEAP_KIND", "IRIS_TUNE", "IRIS_TIMEOUT_MS",
    "IRIS_HEAP_MAX_MB", "IRIS_LOG",   "IRIS_CHECKED", "IRIS_SPAWN",
    "IRIS_TRACE"};

/* What names of the project's own tools begin with: ./run, the tests. */
static const char *const irisi_tools[] = {"IRIS_BUILD", "IRIS_TEST_", "IRIS_GPU_", "IRIS_HIPCC", "IRIS_NVDISASM"};

/* Characters to add, drop or change to make one name of another (Levenshtein); names have at most 31. */
static int irisi_distance(const char *a, const char *b)
{
    int row[33];
    const int n = (int)strlen(b) < 32 ? (int)strlen(b) : 32;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            const int change = corner + (a[i - 1] != b[j - 1]), drop = row[j] + 1, add = row[j - 1] + 1;
            corner = row[j];
            row[j] = change < drop ? change : drop;
            row[j] = add < row[j] ? add : row[j];
        }
    }
    return row[n];
}

/* The variable that was probably meant: at most every other letter of the name is another. Or null. */
static const char *irisi_nearest_variable(const char *name)
{
    const char *nearest = NULL;
    int least = (int)(strlen(name) - strlen("IRIS_")) / 2 + 1;
    for (size_t i = 0; i < sizeof irisi_variables / sizeof *irisi_variables; i++) {
        const int distance = irisi_distance(name, irisi_variables[i]);
        if (distance < least) {
            least = distance;
            nearest = irisi_variables[i];
        }
    }
    return nearest;
}

static int irisi_variable_known(const char *name)
{
    for (size_t i = 0; i < sizeof irisi_variables / sizeof *irisi_variables; i++)
        if (strcmp(name, irisi_variables[i]) == 0)
            return 1;
    for (size_t i = 0; i < sizeof irisi_tools / sizeof *irisi_tools; i++)
        if (strncmp(name, irisi_tools[i], strlen(irisi_tools[i])) == 0)
            return 1;
    return 0;
}

/* Says once, in one line, which IRIS_ variables do nothing: a misspelt one would change nothing without a word. */
static void irisi_warn_of_variables(void)
{
    static int told;
    char text[IRISI_SENTENCE] = "", name[64];
    size_t used = 0;
    for (char **e = environ; e && *e && used + 160 < sizeof text; e++) {
        const size_t length = strcspn(*e, "=");
        if (strncmp(*e, "IRIS_", 5) != 0 || length >= sizeof name)
            continue;
        memcpy(name, *e, length);
        name[length] = 0;
        if (irisi_variable_known(name))
            continue;
        const char *meant = irisi_nearest_variable(name);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s%s%s", used ? ", " : "", name,
                                 meant ? " (is " : "", meant ? meant : "", meant ? " meant?)" : "");
    }
    if (used && !__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
        irisi_warn("the environment has what this library does not know: %s", text);
}

#endif
#endif
