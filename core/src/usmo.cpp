#include "fewlabels.h"
