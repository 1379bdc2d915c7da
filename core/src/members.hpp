// A set of numbers below n that changes in O(1) and lists its members.
#pragma once

#include <stdint.h>

namespace fl {

// members[:count] are in the set; place[k] says where k is among them, -1 for nowhere.
struct Members {
    int64_t *members, *place, count;

    void set(int64_t k, bool inside) {
        if (inside && place[k] < 0) {
            members[count] = k;
            place[k] = count++;
        } else if (!inside && place[k] >= 0) {
            const int64_t last = members[--count];
            members[place[k]] = last;
            place[last] = place[k];
            place[k] = -1;
        }
    }
};

}  // namespace fl
