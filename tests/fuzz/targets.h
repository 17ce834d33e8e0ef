// The parsers that meet foreign bytes, one function a target. Each gives the bytes to its parser,
// and uses what was read as the product does. It CHECKs what must hold of that. True: the bytes
// were understood. Deterministic; not thread-safe.
#pragma once

#include <span>
#include <string_view>

namespace trainctl::fuzz {

bool ReadJob(std::string_view bytes);            // a job or lab file; behind a zero overrides
bool ReadEstimate(std::string_view bytes);       // a job, a zero, and its model's inspection
bool ReadRankMessages(std::string_view bytes);   // JSON of rank, shim and worker
bool ReadRpc(std::string_view bytes);            // a number of a message, and the message
bool ReadLeases(std::string_view bytes);         // requests about leases, one after another
bool ReadGreetings(std::string_view bytes);      // between ranks that become a group
bool ReadSafetensors(std::string_view bytes);    // a file
bool ReadTorchFile(std::string_view bytes);      // a file, or the pickle in it
bool ReadModelConfig(std::string_view bytes);    // config.json, or LitGPT's YAML
bool ReadModelFolder(std::string_view bytes);    // its tokenizer_config.json and the like
bool ReadManifest(std::string_view bytes);       // of a checkpoint
bool ReadTokenizerJson(std::string_view bytes);  // tokenizer.json; behind a zero a text
bool ReadSentencePiece(std::string_view bytes);  // tokenizer.model
bool ReadVocabMerges(std::string_view bytes);    // vocab.json, a zero, merges.txt
bool ReadChatTemplate(std::string_view bytes);   // chat_template.jinja
bool ReadRows(std::string_view bytes);           // JSON, JSON lines or CSV
bool ReadTables(std::string_view bytes);         // Arrow's stream or file, or Parquet
bool ReadPicture(std::string_view bytes);        // JPEG, PNG or WebP
bool ReadRankFolder(std::string_view bytes);     // spool and log of a rank
bool ReadExitRecord(std::string_view bytes);     // exit.json
bool ReadPolicy(std::string_view bytes);         // a site's policy file
bool ReadLitgpt(std::string_view bytes);         // LitGPT's YAML, a zero, words of its command
bool ReadCertificate(std::string_view bytes);    // PEM: a certificate, or a request for one
bool ReadTokens(std::string_view bytes);         // the table of bearer tokens
bool ReadWords(std::string_view bytes);          // addresses, URLs, sizes, lists of CPUs

struct Target {
  std::string_view name;
  bool (*read)(std::string_view bytes);
};

std::span<const Target> Targets();
const Target* FindTarget(std::string_view name);  // null: there is none of this name

}  // namespace trainctl::fuzz
