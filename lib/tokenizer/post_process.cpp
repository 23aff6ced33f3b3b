#include "tokenizer/post_process.hpp"

#include <string>

namespace wafer::tokenizer {

namespace {

const Template text_alone = {std::nullopt};

Template read_template(const Field& field) {
  Template pieces;
  for (const Field& piece : field.at("single").items()) {
    if (const std::optional<Field> sequence = piece.find("Sequence")) {
      if (sequence->at("id").text() != "A") sequence->at("id").refuse("A, the only text");
      pieces.push_back(std::nullopt);
    } else {
      const std::string name = piece.at("SpecialToken").at("id").text();
      for (const Field& id : field.at("special_tokens").at(name).at("ids").items()) pieces.push_back(id.id());
    }
  }
  return pieces;
}

Template read_sequence(const Field& field) {
  std::optional<Template> found;
  for (const Field& processor : field.at("processors").items()) {
    const Template pieces = read_post_processor(processor);
    if (pieces == text_alone) continue;
    if (found) processor.refuse("one template at most");
    found = pieces;
  }
  return found.value_or(text_alone);
}

}  // namespace

Template read_post_processor(const std::optional<Field>& field) {
  if (!field) return text_alone;
  const std::string type = field->at("type").text();
  if (type == "TemplateProcessing") return read_template(*field);
  if (type == "Sequence") return read_sequence(*field);
  if (type == "ByteLevel") return text_alone;
  field->at("type").refuse("TemplateProcessing, ByteLevel or Sequence");
}

}  // namespace wafer::tokenizer
