#pragma once

#include <string_view>

namespace plimsoll::report {

// The files of src/report/page, which the build puts into the library.

std::string_view page_html();
std::string_view page_style();
std::string_view page_script();

}  // namespace plimsoll::report
