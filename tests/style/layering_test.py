"""Who may know what: the #includes of every room against the table of the design."""
import pathlib
import re
import unittest

import tree

# How a library shows in an #include.
LIBRARIES = {
    "gRPC": r"grpc(pp|\+\+)?/|.*\.grpc\.pb\.h$",
    "Protobuf": r"google/protobuf/|.*(?<!\.grpc)\.pb\.h$",
    "Asio": r"boost/(asio|beast)|boost/system",
    "SQLite": r"sqlite3",
    "LibTorch": r"(ATen|torch|c10|caffe2)/",
    "NCCL": r"nccl",
    "CUDA": r"cuda|cublas|cudnn|cub/|thrust/",
    "NVML": r"nvml",
    "nlohmann": r"nlohmann/",
    "PCRE2": r"pcre2",
    "CLI11": r"CLI/",
    "yaml-cpp": r"yaml-cpp/",
    "spdlog": r"spdlog/",
}
RANK_ROOMS = ["worker/" + name for name in ("train", "strategy", "model", "ops", "adapter", "optim", "comm", "data", "files")]
PURE = ["common/base", "common/job", "server/core", "server/placement", "server/compare"]
SERVER = ["common/base", "common/job", "common/wire", "proto", "server/core", "server/placement", "server/compare", "server/store"]

# room: (the rooms it may know beside itself, the libraries it may know)
ROOMS = {
    "common/base": ([], []),
    "common/job": (["common/base"], ["nlohmann"]),
    "common/wire": (["common/base", "common/job", "proto"], ["Protobuf"]),
    "server/core": (["common/base", "common/job", "server/placement"], []),
    "server/placement": (["common/base", "common/job", "server/core"], []),
    "server/compare": (["common/base", "common/job"], []),
    "server/store": (["common/base", "common/job", "server/core"], ["SQLite"]),
    "server/rpc": (SERVER[:-1] + ["server/coordinator"], ["gRPC", "Protobuf", "Asio", "spdlog"]),
    "server/web": (SERVER[:-1], ["Asio", "spdlog"]),
    "server/coordinator": (SERVER + ["server/rpc", "server/web"], ["gRPC", "Protobuf", "Asio", "CLI11", "spdlog"]),
    "worker/agent": (["common/base", "common/job", "common/wire", "proto", "worker/shim"],
                     ["gRPC", "Protobuf", "Asio", "NVML", "CLI11", "nlohmann", "spdlog"]),
    "worker/shim": (["common/base"], []),
    "worker/data": (["common/base", "common/job", "worker/files"], ["nlohmann", "PCRE2"]),
    "worker/files": (["common/base", "common/job"], ["nlohmann", "yaml-cpp"]),
    "worker/comm": (["common/base", "common/job"], ["LibTorch", "NCCL", "CUDA"]),
    "worker/ops": (["common/base", "common/job"], ["LibTorch", "CUDA"]),
    **{f"worker/{name}": (["common/base", "common/job", *RANK_ROOMS], ["LibTorch", "CUDA", "CLI11"])
       for name in ("train", "strategy", "model", "adapter", "optim")},
    "client": (["common/base", "common/job", "common/wire", "proto"], ["gRPC", "Protobuf", "CLI11", "nlohmann", "yaml-cpp"]),
}
# Libraries that a room may know in these files only.
ONLY_IN = {
    ("common/job", "nlohmann"): r"json|schema",
    ("client", "gRPC"): r"grpc_api\.cc$",
    ("client", "yaml-cpp"): r"^yaml\.cc$",
    ("worker/files", "yaml-cpp"): r"^yaml_text\.cc$",  # LitGPT describes its models in YAML
    ("worker/ops", "CUDA"): r"\.cuh?$|fused",
}
# Words that a room must not use. The wall clock, the environment and randomness come from outside; only main.cc reads the environment.
FORBIDDEN_WORDS = {
    r"\bstd::getenv\b|\bsecure_getenv\b|[^_\w]getenv\(": lambda path: path.name != "main.cc",
    r"system_clock|gettimeofday|clock_gettime|\btime\((NULL|nullptr|0)\)": lambda path: tree.room(path) in PURE and path.name != "clock.cc",
    r"std::(thread|mutex|random_device|ofstream|ifstream)\b": lambda path: tree.room(path) in PURE and path.name not in ("clock.cc",
                                                                                                                         "file.cc"),
}


def product_files():
    return [path for path in tree.code_files() if path.parts[0] not in ("tests", "proto")]


def library_of(name):
    return next((library for library, pattern in LIBRARIES.items() if re.match(pattern, name)), None)


class Layering(tree.TestCase):
    def test_every_room_is_in_the_table(self):
        self.assertEqual({tree.room(path) for path in product_files()} - set(ROOMS), set())

    def test_rooms_include_only_rooms_they_may_know(self):
        wrong = []
        for path in product_files():
            room = tree.room(path)
            for number, name, quoted in tree.includes(path):
                other = tree.room(pathlib.PurePath(name)) if quoted and "/" in name else None
                if other is not None and other != room and other not in ROOMS.get(room, ([], []))[0]:
                    wrong.append(f"{path}:{number}: {room} must not know {other} ({name})")
        self.expect_none(wrong)

    def test_rooms_include_only_libraries_they_may_know(self):
        wrong = []
        for path in product_files():
            room = tree.room(path)
            for number, name, _ in tree.includes(path):
                library = library_of(name)
                if library is None:
                    continue
                allowed = library in ROOMS.get(room, ([], []))[1] and re.search(ONLY_IN.get((room, library), ""), path.name)
                if not allowed:
                    wrong.append(f"{path}:{number}: {room} must not know {library} here ({name})")
        self.expect_none(wrong)

    def test_clocks_environment_and_threads_stay_where_they_belong(self):
        wrong = []
        for path in product_files():
            patterns = [pattern for pattern, applies in FORBIDDEN_WORDS.items() if applies(path)]
            for number, line in enumerate(tree.lines(path), 1):
                code = line.split("//")[0]
                wrong += [f"{path}:{number}: {line.strip()}" for pattern in patterns if re.search(pattern, code)]
        self.expect_none(wrong)

    def test_nothing_includes_tests_or_deploy(self):
        wrong = [f"{path}:{number}" for path in product_files() for number, name,
                 _ in tree.includes(path) if name.startswith(("tests/", "deploy/"))]
        self.expect_none(wrong)


if __name__ == "__main__":
    unittest.main()
