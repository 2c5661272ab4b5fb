#include "report/export_names.h"

#include <cctype>

#include "report/json_fields.h"

namespace plimsoll::report {

std::string valid_text(const std::string& text) {
  return Json::parse(dumped(Json(text))).get<std::string>();
}

std::string folder_name(const std::string& text, std::set<std::string>& taken) {
  constexpr std::size_t kLongest = 100;
  std::string name;
  for (const char c : text.substr(0, kLongest)) {
    const auto letter = static_cast<unsigned char>(c);
    const bool plain = letter < 0x80 && (std::isalnum(letter) != 0 || c == '.' || c == '-');
    name += plain && !(name.empty() && c == '.') ? c : '_';
  }
  if (name.empty()) name = "run";
  const std::string first = name;
  for (int i = 2; !taken.insert(name).second; ++i) name = first + "-" + std::to_string(i);
  return name;
}

}  // namespace plimsoll::report
