#include "client/plot/drawn_plot.h"
#include "client/plot/svg.h"
#include "client/report/report.h"
#include "client/show/markup.h"

namespace trainctl::client {
namespace {

// Scripts and anything from elsewhere are forbidden, whatever a text of a job holds.
constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<style>
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #8884;vertical-align:top}
th{font-weight:600}td.r,th.r{text-align:right}tr.h th{padding-top:1rem;border:0}
.good{color:#1a7f37}.warning{color:#9a6700}.bad{color:#c62828}
pre{background:#8881;padding:.7rem;white-space:pre-wrap;overflow-wrap:anywhere}
svg{max-width:100%;height:auto}
@media print{body{margin:0;max-width:none}}
</style>
)";

struct HtmlPart {
  std::string operator()(const Paragraph& part) const {
    return "<p>" + MarkupEscaped(part.text) + "</p>\n";
  }
  std::string operator()(const Verbatim& part) const {
    return "<pre>\n" + MarkupEscaped(part.text) + "</pre>\n";
  }
  std::string operator()(const TextTable& part) const { return part.Html(); }
  std::string operator()(const Plot& part) const {
    return "<figure>\n" + drawn::SvgOf(drawn::DrawingOf(part)) + "</figure>\n";
  }
};

}  // namespace

std::string HtmlOf(const Report& report) {
  const std::string title = MarkupEscaped(report.title);
  std::string page = kHead;
  page += "<title>" + title + "</title></head>\n<body>\n<h1>" + title + "</h1>\n";
  for (const ReportSection& section : report.sections) {
    if (section.parts.empty()) continue;
    page += "<h2>" + MarkupEscaped(section.title) + "</h2>\n";
    for (const ReportPart& part : section.parts) page += std::visit(HtmlPart(), part);
  }
  return page + "</body></html>\n";
}

}  // namespace trainctl::client
