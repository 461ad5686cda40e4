/* SPDX-License-Identifier: MIT */
/* init.h: iris.h, which stands beside it, holds the host API too: a program may include both, in any order. */
#include "iris.h"
