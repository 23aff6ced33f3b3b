#pragma once

#include <optional>
#include <vector>

#include "tokenizer/field.hpp"

namespace wafer::tokenizer {

/// What surrounds the ids of a text: ids to add, and nothing where the text's own ids go.
using Template = std::vector<std::optional<Index>>;

/// The post-processor of tokenizer.json: TemplateProcessing (its template for a single text), ByteLevel,
/// which changes no ids, or a Sequence of them with at most one template; none adds nothing.
/// @throws InputError for any other, by name
Template read_post_processor(const std::optional<Field>& field);

}  // namespace wafer::tokenizer
