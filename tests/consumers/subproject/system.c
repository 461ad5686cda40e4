/* SPDX-License-Identifier: MIT */
/* system.c: a system header with the name of a generated one, of which a program is to see nothing. */
#include <wait.h>

int ended(int status);
int ended(int status) { return WIFEXITED(status); }
