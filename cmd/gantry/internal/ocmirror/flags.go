package ocmirror

// Why some flags have no effect, or are refused.
const (
	copiedAsTheyAre = "images are copied as they are"
	noDaemon        = "images are read from registries, layouts and archives"
	useLogin        = "use gantry registry login: other users of this machine can see command lines"
	noProfile       = "Gantry writes no profiles"
	ociCatalogs     = "catalogs with oci:// in the configuration are mirrored like others"
	deletedAnyway   = "images are deleted with their signatures and other referrers"
	noCacheToDelete = "Gantry has no cache registry; its cache has no content of mirrors, and removes what is old by itself"
	noV1Images      = "images of version 1 are in no record of the mirror; write them in the list with imageReference"
	layersForOne    = "`--parallel-images` with this number, up to 100, and `--parallel-layers 1`"
	verifiesPolicy  = "`--policy FILE` with the file of `--policy`, or else `--secure-policy`: policy.json of the machine. No effect with `--from`, as in oc mirror"
)

// flags are the flags of oc mirror, version 1 and 2. The order is the one of the documentation: what
// is mirrored and where to, how, how registries are reached, what is printed, and the other commands.
var flags = []Flag{
	{"config", "c", Text, everyVerb, "1, 2", Same, ""},
	{"from", "", Text, Mirror, "1, 2", Special, "`--from`; a folder without `file://` is accepted with a note, a file `mirror_seq*.tar` is refused"},
	{"workspace", "w", Text, everyVerb, "2", Special, "`--workspace DIR/working-dir`"},
	{"dir", "d", Text, everyVerb, "1", Special, "`--workspace DIR/working-dir`"},
	{"cache-dir", "", Text, everyVerb, "2", Special, "`--cache-dir`: the cache is `DIR/gantry-cache`; refused with `$OC_MIRROR_CACHE`, as in oc mirror"},
	{"v2", "", Bool, everyVerb, "1, 2", Honored, "what version 2 does is done in any case"},
	{"v1", "", Bool, everyVerb, "1, 2", Ignored, "configurations of both versions are read, and everything else is as in version 2"},
	{"dry-run", "", Bool, Mirror, "1, 2", Same, ""},
	{"dry-run-manifest-lists", "", Bool, Mirror, "2", Special, "`--dry-run`; `gantry plan --lock plan.json` lists every manifest"},
	{"manifests-only", "", Bool, Mirror, "1", Renamed, "resources-only"},
	{"since", "", Text, Mirror, "2", Special, "`--since` for `file://`; otherwise no effect, as in oc mirror; what is not a date is refused"},
	{"ignore-history", "", Bool, Mirror, "1", Special, "`--full` for `file://`; otherwise no effect: the content of the mirror is always checked"},
	{"strict-archive", "", Bool, Mirror, "2", Special, "`--strict-archive` for `file://`; otherwise no effect, as in oc mirror"},
	{"max-nested-paths", "", Int, Mirror, "1, 2", Special, "`--max-nested-paths` for `docker://`; otherwise no effect, as in oc mirror"},
	{"continue-on-error", "", Bool, Mirror, "1", Special, "`--on-error continue`, which is the default; `=false`: `--on-error stop`"},
	{"skip-missing", "", Bool, Mirror, "1", Special, "`--on-error continue`, which is the default"},
	{"skip-metadata-check", "", Bool, Mirror, "1", Ignored, "the mirror is asked for what an archive builds on; no metadata has to match"},
	{"skip-pruning", "", Bool, Mirror, "1", Honored, "nothing is removed from a mirror"},
	{"skip-verification", "", Bool, Mirror, "1", Ignored, "every manifest and blob is compared with its digest"},
	{"skip-cleanup", "", Bool, Mirror, "1", Ignored, "a run leaves nothing but the workspace"},
	{"skip-image-pin", "", Bool, Mirror, "1", Honored, "references in catalogs are not rewritten"},
	{"rebuild-catalogs", "", Bool, Mirror, "1", Special, "honored: catalogs list what is mirrored; `=false` has no effect"},
	{"build-catalog-cache", "", Bool, Mirror, "1", Ignored, "the catalogs that are built need no cache"},
	{"include-local-oci-catalogs", "", Bool, Mirror, "1", Honored, ociCatalogs},
	{"use-oci-feature", "", Bool, Mirror, "1", Honored, ociCatalogs},
	{"oci-feature-action", "", Text, Mirror, "1", Special, "no effect: " + ociCatalogs + "; `copy` is refused"},
	{"oci-registries-config", "", Text, Mirror, "1", Special, "`$CONTAINERS_REGISTRIES_CONF`, for all registries"},
	{"force", "f", Bool, Mirror, "2", Ignored, "content that is already present is checked, and only the rest is copied"},
	{"remove-signatures", "", Bool, Mirror, "2", Same, ""},
	{"ignore-release-signature", "", Bool, Mirror, "2", Same, ""},
	{"secure-policy", "", Bool, Mirror, "2", Special, verifiesPolicy},
	{"policy", "", Text, everyVerb, "2", Special, "`--policy` with `--secure-policy`; otherwise no effect, as in oc mirror"},
	{"registries.d", "", Text, everyVerb, "2", Special, "`--registries.d` with `--secure-policy`; otherwise no effect, as in oc mirror"},
	{"enable-operator-secure-policy", "", Bool, Mirror, "1", Special, "as `--secure-policy`, which verifies every image and not only catalogs"},
	{"oci-insecure-signature-policy", "", Bool, Mirror, "1", Honored, "signatures of images are verified only with `--secure-policy`"},

	{"parallel-images", "", Int, everyVerb, "2", Same, ""},
	{"parallel-batch-images", "", Int, everyVerb, "2", Renamed, "parallel-images"},
	{"parallel-layers", "", Int, everyVerb, "2", Same, ""},
	{"max-per-registry", "", Int, Mirror, "1", Special, layersForOne},
	{"max-parallel-downloads", "", Int, Mirror, "2", Special, layersForOne},
	{"retry-times", "", Int, everyVerb, "2", Same, ""},
	{"retry-delay", "", Duration, everyVerb, "2", Same, ""},
	{"image-timeout", "", Duration, Mirror, "2", Ignored, "images have no time limit; a transfer that stalls is retried"},
	{"port", "p", Int, everyVerb, "2", Ignored, "the cache needs no registry"},
	{"rootless-storage-path", "", Text, Mirror, "2", Ignored, "no container storage is used"},

	{"authfile", "a", Text, everyVerb, "2", Same, ""},
	{"src-authfile", "", Text, everyVerb, "2", Same, ""},
	{"dest-authfile", "", Text, everyVerb, "2", Same, ""},
	{"src-cert-dir", "", Text, everyVerb, "2", Same, ""},
	{"dest-cert-dir", "", Text, everyVerb, "2", Same, ""},
	{"src-tls-verify", "", Bool, everyVerb, "2", Same, ""},
	{"dest-tls-verify", "", Bool, everyVerb, "2", Same, ""},
	{"tls-verify", "", Bool, everyVerb, "2", Special, "`--src-tls-verify` and `--dest-tls-verify`"},
	{"source-skip-tls", "", Bool, Mirror, "1", Opposite, "src-tls-verify"},
	{"dest-skip-tls", "", Bool, Mirror, "1", Opposite, "dest-tls-verify"},
	{"source-use-http", "", Bool, Mirror, "1", Renamed, "src-plain-http"},
	{"dest-use-http", "", Bool, Mirror, "1", Renamed, "dest-plain-http"},
	{"src-no-creds", "", Bool, everyVerb, "2", Ignored, "a registry gets credentials only if an auth file has some for it"},
	{"dest-no-creds", "", Bool, everyVerb, "2", Ignored, "a registry gets credentials only if an auth file has some for it"},
	{"src-creds", "", Text, everyVerb, "2", Refused, useLogin},
	{"dest-creds", "", Text, everyVerb, "2", Refused, useLogin},
	{"screds", "", Text, everyVerb, "2", Refused, useLogin},
	{"dcreds", "", Text, everyVerb, "2", Refused, useLogin},
	{"src-username", "", Text, everyVerb, "2", Refused, useLogin},
	{"dest-username", "", Text, everyVerb, "2", Refused, useLogin},
	{"src-password", "", Text, everyVerb, "2", Refused, useLogin},
	{"dest-password", "", Text, everyVerb, "2", Refused, useLogin},
	{"src-registry-token", "", Text, everyVerb, "2", Refused, useLogin},
	{"dest-registry-token", "", Text, everyVerb, "2", Refused, useLogin},
	{"src-daemon-host", "", Text, everyVerb, "2", Ignored, noDaemon},
	{"dest-daemon-host", "", Text, everyVerb, "2", Ignored, noDaemon},
	{"src-shared-blob-dir", "", Text, everyVerb, "2", Ignored, noDaemon},
	{"dest-shared-blob-dir", "", Text, everyVerb, "2", Ignored, noDaemon},
	{"dest-compress", "", Bool, everyVerb, "2", Ignored, copiedAsTheyAre},
	{"dest-decompress", "", Bool, everyVerb, "2", Ignored, copiedAsTheyAre},
	{"dest-compress-format", "", Text, everyVerb, "2", Ignored, copiedAsTheyAre},
	{"dest-compress-level", "", Int, everyVerb, "2", Ignored, copiedAsTheyAre},
	{"dest-oci-accept-uncompressed-layers", "", Bool, everyVerb, "2", Ignored, copiedAsTheyAre},
	{"dest-precompute-digests", "", Bool, everyVerb, "2", Ignored, copiedAsTheyAre},

	{"log-level", "", Text, everyVerb, "2", Same, ""},
	{"loglevel", "", Text, everyVerb, "2", Renamed, "log-level"},
	{"verbose", "v", Level, everyVerb, "1", Special, "`--log-level debug`; from 3 on `--log-level trace`; 0 has no effect"},
	{"quiet", "q", Bool, Mirror, "2", Same, ""},
	{"cpu-prof", "", Bool, everyVerb, "2", Ignored, noProfile},
	{"mem-prof", "", Bool, everyVerb, "2", Ignored, noProfile},

	{"generate", "", Bool, Delete, "2", Same, ""},
	{"delete-yaml-file", "", Text, Delete, "2", Same, ""},
	{"delete-id", "", Text, Delete, "2", Same, ""},
	{"force-cache-delete", "", Bool, Delete, "2", Ignored, noCacheToDelete},
	{"delete-signatures", "", Bool, Delete, "2", Honored, deletedAnyway},
	{"delete-v1-images", "", Bool, Delete, "2", Ignored, noV1Images},

	{"catalogs", "", Bool, ListOperators, "1, 2", Same, ""},
	{"catalog", "", Text, ListOperators, "1, 2", Same, ""},
	{"package", "", Text, ListOperators, "1, 2", Same, ""},
	{"channel", "", Text, ListOperators | ListReleases, "1, 2", Same, ""},
	{"channels", "", Bool, ListReleases, "1, 2", Same, ""},
	{"version", "", Text, ListOperators | ListReleases, "1, 2", Special, "`--version`; no effect beside `--channel` or a `--catalog` with a tag"},
	{"filter-by-archs", "", Text, ListReleases, "1, 2", Same, ""},
	{"registry", "", Text, Init, "1", Ignored, "state is kept in the workspace, not in a registry"},
	{"output", "", Text, Init | Version, "1, 2", Same, ""},
	{"short", "", Bool, Version, "1, 2", Honored, "the version is printed as there"},
	{"version", "", Bool, Mirror, "2", Special, "`gantry version`"},
}
