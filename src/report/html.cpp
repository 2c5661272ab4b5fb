#include <plimsoll/report/html.h>

#include <utility>
#include <vector>

#include <plimsoll/report/exports.h>

#include "report/page_data.h"
#include "report/page_parts.h"
#include "report/write_file.h"

namespace plimsoll::report {
namespace {

/// Nothing is loaded, and what is in the file is all that runs.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'";

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        // Names of files may have anything in them; a title is one line of ASCII, so that it is
        // valid whatever it was.
        safe +=
            static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f ? '?' : c;
    }
  }
  return safe;
}

std::string title_of(const std::string& name, const HtmlOptions& options) {
  constexpr std::size_t kLongest = 120;
  const std::string title = options.title.empty() ? name + " - plimsoll" : options.title;
  return escaped(title.substr(0, kLongest));
}

/// Each {{name}} of the page once; what is filled in is not looked at again.
std::string filled(std::string_view page,
                   const std::vector<std::pair<std::string_view, std::string_view>>& parts) {
  std::string text;
  std::size_t at = 0;
  for (std::size_t open = page.find("{{"); open != std::string_view::npos;
       open = page.find("{{", at)) {
    const std::size_t close = page.find("}}", open);
    if (close == std::string_view::npos) break;
    text += page.substr(at, open - at);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    for (const auto& [key, value] : parts) {
      if (key == name) text += value;
    }
    at = close + 2;
  }
  text += page.substr(at);
  return text;
}

}  // namespace

std::string html_data(std::span<const Run> runs, const HtmlOptions& options) {
  return page_data(runs, {.live = options.live});
}

std::string html_around(const std::string& data, const std::string& name,
                        const HtmlOptions& options) {
  const std::string policy = std::string(kPolicy) + (options.live ? "; connect-src 'self'" : "");
  const std::string title = title_of(name, options);
  return filled(page_html(), {{"policy", policy},
                              {"title", title},
                              {"style", page_style()},
                              {"data", data},
                              {"script", page_script()}});
}

std::string html(std::span<const Run> runs, const HtmlOptions& options) {
  std::string names;
  for (const Run& run : runs) names += (names.empty() ? "" : ", ") + run.name;
  return html_around(page_data(runs, {.live = options.live}), names, options);
}

void write_html(std::span<const Run> runs, const std::string& path, const HtmlOptions& options) {
  write_file(path, html(runs, options));
}

void write_json(std::span<const Run> runs, const std::string& path) {
  write_file(path, page_data(runs, {.thin = false}) + "\n");
}

}  // namespace plimsoll::report
