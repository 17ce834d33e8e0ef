// A copy of the site's database, onto the coordinator's host.
#include <filesystem>

#include "server/rpc/coordinator_service.h"
#include "server/rpc/unary_call.h"

namespace trainctl::rpc {

void CoordinatorService::Backup(UnaryCall& call, const v1::BackupRequest* request,
                                v1::BackupResponse* response) {
  AskLoop<store::Backup>(
      {call, request->path()}, [request] { return base::Result<std::string>(request->path()); },
      [this](const Permit& permit, std::string path, auto answer) {
        const base::Status there = backend_.coordinator.CheckStore();
        if (!there) return answer(there.error());
        backend_.backups.Ask(path, [this, permit, path, answer](base::Result<store::Backup> made) {
          if (!made) return answer(made.error());
          const auto stored = [path, made = *made, answer](const base::Status& status) {
            if (status) return answer(made);
            std::error_code error;
            std::filesystem::remove(path, error);
            answer(status.error());
          };
          backend_.coordinator.RecordChange(permit.caller, "backup", path, stored);
        });
      },
      [response](const store::Backup& made) {
        response->set_bytes(made.bytes);
        response->set_jobs(made.jobs);
      });
}

}  // namespace trainctl::rpc
