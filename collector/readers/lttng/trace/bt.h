// Babeltrace's objects by reference count, and its errors as sentences.
//
// Errors: take_error() takes what Babeltrace keeps of the current thread; it must be called after each call
// that failed, or the next one aborts. Thread safety: none. Cost: none beyond the library's calls.
#pragma once

#include <babeltrace2/babeltrace.h>

#include <string>
#include <utility>
#include <vector>

namespace margay::lttng {

// One reference of a Babeltrace object; `Put` gives it back.
template <typename T, void (*Put)(const T*)>
class BtRef {
 public:
  BtRef() = default;
  explicit BtRef(T* owned) : object_(owned) {}
  BtRef(BtRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  BtRef& operator=(BtRef&& other) noexcept {
    if (this != &other) reset(std::exchange(other.object_, nullptr));
    return *this;
  }
  ~BtRef() { reset(nullptr); }
  void reset(T* owned) {
    if (object_ != nullptr) Put(object_);
    object_ = owned;
  }
  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

using GraphRef = BtRef<bt_graph, bt_graph_put_ref>;
using ValueRef = BtRef<bt_value, bt_value_put_ref>;
using PluginRef = BtRef<const bt_plugin, bt_plugin_put_ref>;
using IteratorRef = BtRef<bt_message_iterator, bt_message_iterator_put_ref>;
using EventClassRef = BtRef<const bt_event_class, bt_event_class_put_ref>;
using StreamRef = BtRef<const bt_stream, bt_stream_put_ref>;

struct BtError {
  std::string text;                 // the first cause, one line, at most 300 bytes
  std::vector<std::string> causes;  // all of them, the first one first
};

// What the last failing call left; "Babeltrace does not say why" where it left nothing. Clears it.
BtError take_error();

}  // namespace margay::lttng
