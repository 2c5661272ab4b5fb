#include <algorithm>

#include "backend/cpu/dtype_switch.h"
#include "backend/cpu/kernels.h"

namespace plimsoll::cpu {

void add_random_kernels(KernelTable& table) {
  table.add("full", {[](const KernelContext& k) {
              const double value = k.attributes.number("value");
              with_any(k.out(0).dtype(), [&]<typename T>() {
                std::fill_n(k.out(0).as<T>(), k.out(0).elements(),
                            static_cast<T>(static_cast<Acc<T>>(value)));
              });
            }});
}

}  // namespace plimsoll::cpu
