#include "controller/build_info.h"

namespace assay::controller {

const BuildInfo& build_info() {
  static const BuildInfo kInfo = {ASSAY_VERSION, ASSAY_GIT_COMMIT, ASSAY_COMPILER,
                                  ASSAY_BUILD_TYPE};
  return kInfo;
}

}  // namespace assay::controller
