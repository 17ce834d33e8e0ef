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
    "OpenSSL": r"openssl/",
    "LibTorch": r"(ATen|torch|c10|caffe2|kineto)/",
    "NCCL": r"nccl",
    "CUDA": r"cuda|cublas|cudnn|cub/|thrust/|mma\.h|cooperative_groups",
    "NVML": r"nvml",
    "nlohmann": r"nlohmann/",
    "PCRE2": r"pcre2",
    "CLI11": r"CLI/",
    "yaml-cpp": r"yaml-cpp/",
    "spdlog": r"spdlog/",
    "libjpeg": r"(jpeglib|jerror)\.h$",
    "libpng": r"png\.h$",
    "libwebp": r"webp/",
    "zlib": r"zlib\.h$",
    "FreeType": r"ft2build\.h$|freetype/",
    "Arrow": r"(arrow|parquet)/",
}
# What everyone may include besides: the standard library's headers have neither folder nor suffix.
PLATFORM = re.compile(
    r"[a-z_]+$|(sys|linux|arpa|netinet)/[a-z_0-9]+\.h$"
    r"|(dirent|dlfcn|fcntl|grp|ifaddrs|immintrin|malloc|netdb|poll|pwd|sched|signal|spawn)\.h$"
    r"|(termios|unistd)\.h$"
)
# How a library shows as a target of CMake.
TARGETS = {
    "gRPC": r"gRPC::",
    "Protobuf": r"protobuf::",
    "Asio": r"trainctl_asio$",
    "SQLite": r"SQLite::",
    "OpenSSL": r"OpenSSL::",
    "LibTorch": r"trainctl_libtorch$",
    "nlohmann": r"nlohmann_json::",
    "PCRE2": r"PkgConfig::PCRE2$",
    "yaml-cpp": r"PkgConfig::YAML$",
    "spdlog": r"spdlog::",
    "libjpeg": r"JPEG::",
    "libpng": r"PNG::",
    "libwebp": r"PkgConfig::WEBP$",
    "zlib": r"ZLIB::",
    "FreeType": r"Freetype::",
    "Arrow": r"trainctl_libarrow$",
}
PURE = [
    "common/base",
    "common/json",
    "common/job",
    "common/model",
    "common/rank",
    "common/estimate",
    "common/advice",
    "server/core",
    "server/placement",
    "server/compare",
]


def within(folder, *names):
    """["server/core", …]"""
    return [f"{folder}/{name}" for name in names]


# room: (the rooms it may know beside itself, the libraries it may know). A room that is not there,
# or that nobody includes, is a fault, and so is a room or library that is not used.
ROOMS = {
    "common/base": ([], []),
    "common/json": (["common/base"], ["nlohmann"]),
    "common/job": (within("common", "base", "json"), []),
    "common/rank": (within("common", "base", "json", "job"), []),
    "common/model": (["common/base"], []),
    "common/estimate": (within("common", "base", "json", "job", "rank", "model"), []),
    "common/advice": (within("common", "base", "job", "estimate"), []),
    "common/wire": (within("common", "base", "job", "rank", "estimate") + ["proto"], ["Protobuf"]),
    "common/peer": (["common/base"], []),
    "common/tls": (["common/base"], ["OpenSSL"]),
    "common/track": ([], []),
    "common/record": (
        within("common", "job", "rank", "estimate", "advice", "wire") + ["proto"],
        ["Protobuf", "nlohmann"],
    ),
    "server/placement": (within("common", "base", "job"), []),
    "server/core": (
        within("common", "base", "json", "job", "rank", "estimate") + ["server/placement"],
        [],
    ),
    "server/compare": (within("common", "base", "job", "rank", "estimate"), []),
    "server/store": (
        within("common", "base", "job", "rank", "estimate") + ["server/core"],
        ["SQLite"],
    ),
    "server/auth": (within("common", "base", "tls"), ["OpenSSL"]),
    "server/meters": (["common/base", "server/auth"], []),
    "server/coordinator": (
        within("common", "advice", "base", "json", "job", "rank", "estimate")
        + within("server", "core", "compare", "store", "auth"),
        ["Asio", "spdlog"],
    ),
    "server/views": (
        within("common", "job", "rank", "estimate", "wire")
        + within("server", "core", "coordinator")
        + ["proto"],
        ["Protobuf"],
    ),
    "server/rpc": (
        within("common", "base", "job", "rank", "estimate", "peer", "wire")
        + within("server", "core", "auth", "meters", "coordinator", "views")
        + ["proto"],
        ["gRPC", "Protobuf"],
    ),
    "server/web": (
        within("common", "base", "job", "rank", "peer", "record")
        + within("server", "store", "auth", "meters", "coordinator", "views")
        + ["proto"],
        ["Protobuf", "Asio", "OpenSSL"],
    ),
    "server/daemon": (
        within("common", "base", "peer")
        + within("server", "core", "store", "auth", "meters", "coordinator", "rpc", "web"),
        ["Asio", "CLI11"],
    ),
    "worker/shim": (["common/base"], []),
    "worker/agent": (
        within("common", "base", "job", "rank", "estimate", "peer", "tls", "wire")
        + ["proto", "worker/shim", "worker/rank/data"],
        ["gRPC", "Protobuf", "Asio", "nlohmann", "spdlog"],
    ),
    "worker/rank/files": (
        within("common", "base", "json", "job", "rank", "estimate", "model"),
        ["nlohmann", "yaml-cpp"],
    ),
    "worker/rank/images": (["common/base", "worker/rank/files"], ["libjpeg", "libpng", "libwebp"]),
    "worker/rank/tokenizer": (["common/base", "worker/rank/files"], ["nlohmann", "PCRE2"]),
    "worker/rank/tables": (["common/base"], ["nlohmann"]),
    "worker/rank/arrow": (["common/base", "worker/rank/tables"], ["nlohmann", "Arrow"]),
    "worker/rank/data": (
        within("common", "base", "job", "estimate", "model")
        + within("worker/rank", "files", "images", "tables", "tokenizer"),
        ["nlohmann"],
    ),
    "worker/rank/profile": (["common/rank"], []),
    "worker/rank/comm": (
        ["common/base", "worker/rank/profile"],
        ["LibTorch", "NCCL", "CUDA", "OpenSSL"],
    ),
    "worker/rank/ops": (
        ["common/base", "common/model", "worker/rank/profile"],
        ["LibTorch", "CUDA"],
    ),
    "worker/rank/model": (
        within("common", "base", "job", "estimate", "model") + ["worker/rank/ops"],
        ["LibTorch"],
    ),
    "worker/rank/optim": (
        within("common", "base", "job") + ["worker/rank/ops"],
        ["LibTorch", "CUDA"],
    ),
    "worker/rank/strategy": (
        within("common", "base", "job")
        + within("worker/rank", "ops", "model", "optim", "comm", "profile"),
        ["LibTorch"],
    ),
    "worker/rank/process": (
        within("common", "base", "rank", "track") + ["worker/rank/comm"],
        ["LibTorch", "CUDA"],
    ),
    "worker/rank/state": (
        within("common", "base", "json", "job", "rank", "model")
        + within("worker/rank", "ops", "optim", "comm", "strategy", "process", "files"),
        ["LibTorch"],
    ),
    "worker/rank/train": (
        within("common", "base", "job", "rank", "model")
        + within(
            "worker/rank",
            "ops",
            "model",
            "optim",
            "comm",
            "strategy",
            "files",
            "data",
            "images",
            "process",
            "profile",
            "state",
        ),
        ["LibTorch"],
    ),
    "worker/rank/main.cc": (
        within("common", "base", "job", "rank", "estimate")
        + within("worker/rank", "comm", "data", "train"),
        ["LibTorch"],
    ),
    "client/show": (
        within("common", "base", "json", "job", "rank", "estimate", "wire", "record") + ["proto"],
        ["Protobuf"],
    ),
    "client": (
        within("common", "base", "job", "peer", "tls", "wire") + ["proto", "client/show"],
        ["gRPC", "Protobuf", "CLI11", "nlohmann"],
    ),
    "client/litgpt": (["common/base", "client/show"], ["yaml-cpp"]),
    "client/submit": (
        within("common", "base", "json", "job", "rank", "estimate", "advice", "wire", "record")
        + ["proto", "client", "client/show"],
        ["Protobuf"],
    ),
    "client/plot": (["client", "common/rank", "client/show", "common/base"], ["zlib", "FreeType"]),
    "client/report": (
        within("common", "job", "rank", "estimate")
        + within("client", "show", "plot", "files")
        + ["proto"],
        ["Protobuf"],
    ),
    "client/files": (
        within("common", "base", "job", "rank", "wire", "record", "track")
        + ["proto", "client", "client/show"],
        ["Protobuf"],
    ),
    "client/top": (["proto", "client", "common/base", "client/show"], ["Protobuf"]),
    "client/verbs": (
        within("common", "base", "job", "rank", "estimate", "record", "tls")
        + within("client", "show", "submit", "files", "plot", "report", "litgpt", "top")
        + ["client"],
        [],
    ),
    "client/main.cc": (["client", "common/base", "client/verbs"], []),
}
# Libraries that a room may know in these files only.
ONLY_IN = {
    ("client", "gRPC"): r"grpc_api\.cc$",
    ("client/litgpt", "yaml-cpp"): r"^yaml\.cc$",
    ("worker/rank/files", "yaml-cpp"): r"^yaml_text\.cc$",  # LitGPT describes its models in YAML
    ("worker/rank/images", "libjpeg"): r"^jpeg\.cc$",
    ("worker/rank/images", "libpng"): r"^png\.cc$",
    ("worker/rank/images", "libwebp"): r"^webp\.cc$",
    ("worker/rank/comm", "OpenSSL"): r"^handshake\.cc$",
    ("worker/rank/ops", "CUDA"): r"\.cuh?$|fused",
}
# Words that a room must not use. The wall clock, the environment and randomness come from outside;
# only main.cc reads the environment.
FORBIDDEN_WORDS = {
    r"\bstd::getenv\b|\bsecure_getenv\b|[^_\w]getenv\(|\bsetenv\(": lambda path: (
        path.name != "main.cc"
    ),
    r"system_clock|gettimeofday|clock_gettime|\btime\((NULL|nullptr|0)\)": lambda path: (
        tree.room(path) in PURE and path.name != "clock.cc"
    ),
    r"std::(jthread|thread|async|mutex|condition_variable|random_device|[io]?fstream|rand)\b"
    r"|\bf?open\(|steady_clock::now": lambda path: (
        tree.room(path) in PURE
        and path.name
        not in (
            "clock.cc",
            "descriptor.h",
            "file.cc",
            "file_fence.cc",
            "file_roots.cc",
            "random_name.cc",
            "regular_file.cc",
        )
    ),
}


def product_files():
    return [path for path in tree.code_files() if path.parts[0] not in ("tests", "proto")]


def targets():
    """{target: (room, what it links)} of the product's CMakeLists.txt."""
    found = {}
    for folder in ("common", "proto", "server", "worker", "client"):
        for path in sorted((tree.TOP / folder).rglob("CMakeLists.txt")):
            room = str(path.parent.relative_to(tree.TOP))
            text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
            for name, arguments in re.findall(
                r"(?:trainctl_room|trainctl_library|trainctl_program|target_link_libraries"
                r"|add_library)\s*\(\s*(\w+)([^)]*)\)",
                text,
            ):
                links = re.findall(r"\btrainctl_\w+|\w+::\w[\w+]*", arguments)
                found.setdefault(name, (room, set()))[1].update(links)
    return found


def target_library(name):
    return next((library for library, mark in TARGETS.items() if re.match(mark, name)), None)


def rooms_in(folder):
    """A folder's rooms: client's library is made of several."""
    return [room for room in ROOMS if room == folder or room.startswith(f"{folder}/")]


def library_of(name):
    return next(
        (library for library, pattern in LIBRARIES.items() if re.match(pattern, name)), None
    )


class Layering(tree.TestCase):
    def test_the_table_lists_the_rooms_that_there_are(self):
        self.assertEqual({tree.room(path) for path in product_files()}, set(ROOMS))

    def test_each_room_stands_in_the_readme_of_its_folder(self):
        wrong = []
        for room in map(pathlib.PurePath, ROOMS):
            readme = tree.TOP / room.parent / "README.md"
            if len(room.parts) > 1 and not room.suffix:
                wrong += [] if f"`{room.name}`" in readme.read_text() else [f"{readme}: no {room}"]
        self.expect_none(wrong)

    def test_each_room_has_a_short_readme_with_a_diagram(self):
        wrong = []
        for room in ROOMS:
            if "/" not in room or room.endswith(".cc"):  # a folder of rooms, a program's main.cc
                continue
            readme = tree.TOP / room / "README.md"
            if not readme.exists():
                wrong.append(f"{room}: no README.md")
                continue
            text = readme.read_text(encoding="utf-8")
            wrong += [] if len(text.splitlines()) <= 40 else [f"{readme}: more than 40 lines"]
            for part in (f"# {room}\n", "```\n", "May know: "):
                wrong += [] if part in text else [f"{readme}: no {part.strip()!r}"]
            # Files are named from the root, the folder of rooms, the room, or a folder of tests.
            places = ["", pathlib.PurePath(room).parent, room, *re.findall(r"tests/\w+", text)]
            wrong += [
                f"{readme}: no {name}"
                for name in re.findall(r"`([\w/]+\.(?:cc|h|cu|py|proto))`", text)
                if not any((tree.TOP / place / name).exists() for place in places)
            ]
        self.expect_none(wrong)

    def test_rooms_include_only_rooms_they_may_know(self):
        wrong = []
        for path in product_files():
            room = tree.room(path)
            for number, name, quoted in tree.includes(path):
                other = tree.room(pathlib.PurePath(name)) if quoted and "/" in name else None
                if (
                    other is not None
                    and other != room
                    and other not in ROOMS.get(room, ([], []))[0]
                ):
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
                allowed = library in ROOMS.get(room, ([], []))[1] and re.search(
                    ONLY_IN.get((room, library), ""), path.name
                )
                if not allowed:
                    wrong.append(f"{path}:{number}: {room} must not know {library} here ({name})")
        self.expect_none(wrong)

    def test_clocks_environment_and_threads_stay_where_they_belong(self):
        wrong = []
        for path in product_files():
            patterns = [pattern for pattern, applies in FORBIDDEN_WORDS.items() if applies(path)]
            for number, line in enumerate(tree.lines(path), 1):
                code = line.split("//")[0]
                wrong += [
                    f"{path}:{number}: {line.strip()}"
                    for pattern in patterns
                    if re.search(pattern, code)
                ]
        self.expect_none(wrong)

    def test_our_own_headers_stand_in_quotes(self):
        wrong = [
            f"{path}:{number}: <{name}>"
            for path in tree.code_files()
            for number, name, quoted in tree.includes(path)
            if not quoted and name.split("/")[0] in (*tree.CODE_FOLDERS, "deploy")
        ]
        self.expect_none(wrong)

    def test_each_library_that_is_included_is_in_the_table(self):
        wrong = [
            f"{path}:{number}: which library is <{name}>?"
            for path in product_files()
            for number, name, quoted in tree.includes(path)
            if not quoted and library_of(name) is None and not PLATFORM.match(name)
        ]
        self.expect_none(wrong)

    def test_no_room_may_know_a_room_that_it_does_not_use(self):
        used = {
            (tree.room(path), tree.room(pathlib.PurePath(name))) for path, name in self.included()
        }
        made = targets()
        used |= {
            (room, made[link][0]) for room, links in made.values() for link in links if link in made
        }
        self.expect_none(
            [
                f"{room}: {other}"
                for room, (others, _) in ROOMS.items()
                for other in others
                if (room, other) not in used
            ]
        )

    def test_no_room_may_know_a_library_that_it_does_not_use(self):
        used = {(tree.room(path), library_of(name)) for path, name in self.included()}
        used |= {
            (room, target_library(link)) for room, links in targets().values() for link in links
        }
        self.expect_none(
            [
                f"{room}: {library}"
                for room, (_, libraries) in ROOMS.items()
                for library in libraries
                if (room, library) not in used
            ]
        )

    def included(self):
        return [(path, name) for path in product_files() for _, name, _ in tree.includes(path)]

    def test_what_is_generated_has_one_reader(self):
        readers = {path for path, name in self.included() if name == "common/base/commit.h"}
        self.assertEqual({str(path) for path in readers}, {"common/base/version.cc"})

    def test_targets_link_only_rooms_they_may_know(self):
        made, wrong = targets(), []
        for name, (folder, links) in made.items():
            rooms = rooms_in(folder)
            may = {other for room in rooms for other in ROOMS[room][0]} | {folder, *rooms}
            for link in links:
                room = made[link][0] if link in made else None
                if room is not None and room not in may and folder != "proto":
                    wrong.append(f"{name} ({folder}) must not link {link} ({room})")
        self.assertGreater(len(made), 30)
        self.expect_none(wrong)

    def test_targets_link_only_libraries_they_may_know(self):
        wrong = []
        for name, (folder, links) in targets().items():
            may = {library for room in rooms_in(folder) for library in ROOMS[room][1]}
            for link in links:
                library = target_library(link)
                if library is not None and library not in may and folder != "proto":
                    wrong.append(f"{name} ({folder}) must not link {link}")
        self.expect_none(wrong)

    def test_an_optimizer_is_named_in_few_places(self):
        """All that checks and estimates know of one is its row."""
        named = {
            str(path)
            for path in product_files()
            if any(re.search(r"OptimizerKind::k|\bkAdamW8bit\b", line) for line in tree.lines(path))
        }
        self.assertEqual(
            named,
            {
                "client/submit/recipe_listing.cc",  # the usual one is not said
                "common/advice/variants.cc",  # those that are advised
                "common/job/job.h",
                "common/job/optimizer.h",
                "worker/rank/optim/optimizers.cc",
            },
        )

    def test_nothing_includes_tests_or_deploy(self):
        wrong = [
            f"{path}:{number}"
            for path in product_files()
            for number, name, _ in tree.includes(path)
            if name.startswith(("tests/", "deploy/"))
        ]
        self.expect_none(wrong)


if __name__ == "__main__":
    unittest.main()
