// The header that traces of tests begin with.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace margay::test_support {

// Events 0 to 17 in the order of the format, fields in a plain order.
inline std::string paje_header() {
  const std::pair<const char*, std::vector<const char*>> events[] = {
      {"DefineContainerType", {"Alias", "Type", "Name"}},
      {"DefineStateType", {"Alias", "Type", "Name"}},
      {"DefineVariableType", {"Alias", "Type", "Name"}},
      {"DefineEventType", {"Alias", "Type", "Name"}},
      {"DefineLinkType", {"Alias", "Type", "StartContainerType", "EndContainerType", "Name"}},
      {"DefineEntityValue", {"Alias", "Type", "Name"}},
      {"CreateContainer", {"Time", "Alias", "Type", "Container", "Name"}},
      {"DestroyContainer", {"Time", "Type", "Name"}},
      {"SetState", {"Time", "Type", "Container", "Value"}},
      {"PushState", {"Time", "Type", "Container", "Value"}},
      {"PopState", {"Time", "Type", "Container"}},
      {"ResetState", {"Time", "Type", "Container"}},
      {"SetVariable", {"Time", "Type", "Container", "Value"}},
      {"AddVariable", {"Time", "Type", "Container", "Value"}},
      {"SubVariable", {"Time", "Type", "Container", "Value"}},
      {"NewEvent", {"Time", "Type", "Container", "Value"}},
      {"StartLink", {"Time", "Type", "Container", "StartContainer", "Value", "Key"}},
      {"EndLink", {"Time", "Type", "Container", "EndContainer", "Value", "Key"}},
  };
  std::string out;
  int number = 0;
  for (const auto& [name, fields] : events) {
    out += "%EventDef Paje" + std::string(name) + " " + std::to_string(number++) + "\n";
    for (const char* f : fields) out += "% " + std::string(f) + " string\n";
    out += "%EndEventDef\n";
  }
  return out;
}

}  // namespace margay::test_support
