#pragma once

#include <cassert>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace assay {

// A value or the Status that says why there is none. Never holds an ok Status.
// value() of a failed result is our bug and asserts.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  // NOLINTNEXTLINE(google-explicit-constructor): `return status;` is the point.
  Result(Status status) : status_(std::move(status)) {
    assert(!status_.ok());
    if (status_.ok()) status_ = internal_error("Result built from an ok Status");
  }
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` is the point.
  Result(T value) : value_(std::move(value)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return *std::move(value_);
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace assay

#define ASSAY_CONCAT_INNER_(a, b) a##b
#define ASSAY_CONCAT_(a, b) ASSAY_CONCAT_INNER_(a, b)

// Return the Status of `expression` from the calling function when it failed.
#define RETURN_IF_ERROR(expression)                                                              \
  do {                                                                                           \
    if (::assay::Status assay_status_ = (expression); !assay_status_.ok()) return assay_status_; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, f()): x is the value, or the function returns f's Status.
#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSAY_ASSIGN_OR_RETURN_(ASSAY_CONCAT_(assay_result_, __LINE__), declaration, expression)
#define ASSAY_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) return std::move(result).status();           \
  declaration = std::move(result).value()
