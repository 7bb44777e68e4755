// What `margay archive` prints. Names in an archive come from other people's programs: text passes through
// margay/text/text.h, JSON is clean UTF-8.
#pragma once

#include <string>
#include <vector>

#include "archive_check.h"
#include "archive_facts.h"

namespace margay::daemon {

// An archive, or why it is not to be read.
struct ListedArchive {
  std::string path;
  std::optional<ArchiveFacts> facts;
  std::string problem;
};

std::string list_text(const std::vector<ListedArchive>& archives);
std::string list_json(const std::vector<ListedArchive>& archives);
std::string info_text(const ArchiveFacts& facts);
std::string info_json(const ArchiveFacts& facts);
std::string check_text(const std::string& path, const ArchiveCheck& check);
std::string check_json(const std::string& path, const ArchiveCheck& check);

}  // namespace margay::daemon
