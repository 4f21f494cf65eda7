package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

const tinyCatalog = `{"schema":"olm.package","name":"a","defaultChannel":"stable"}
{"schema":"olm.channel","package":"a","name":"stable","entries":[{"name":"a.v1.0.0"}]}
{"schema":"olm.bundle","package":"a","name":"a.v1.0.0","image":"quay.io/org/a:v1.0.0","properties":[{"type":"olm.package","value":{"packageName":"a","version":"1.0.0"}}]}
`

// TestRefusedLines checks that flags and arguments that are wrong, contradict each other or have no effect are refused, in
// words that name flags, before a request is sent and a folder is made. In the command lines, the words in capitals are
// files of the fixture, and TO is a registry.
func TestRefusedLines(t *testing.T) {
	t.Parallel()
	w := &fixture{t: t, dir: t.TempDir()}
	w.surroundings("", "")
	w.refuseAllBut()
	w.mkdir("catalog")
	w.write("catalog/catalog.json", tinyCatalog)
	key, _ := w.site().SSHKey("ops", "")
	locked, _ := w.site().SSHKey("locked", "secret")
	names := strings.NewReplacer(
		"ISC", w.config("imageset.yaml", storeOnly), "BAD", w.config("bad.yaml", "  images: []\n"), "ABSENT", w.path("absent"), "DISK", fileScheme+w.path("disk"),
		"TO", "docker://registry.invalid", "CATALOG", w.path("catalog"), "REQUEST", w.write("request.json", "{}"), "ALLOWED", w.write("allowed", w.site().Allowed("ops", "")),
		"LIMITS", w.write("limits.yaml", "hosts:\n- host: quay.io\n  streams: 0\n- streams: 3\n"), "KEY", key, "LOCKED", locked, "IMAGE", "--kubernetes-image x/gantry:v1",
		"USERS", w.write("users", "ann:secret\n"), "FOLDER", w.dir,
	)
	for line, words := range map[string]string{
		"plan":                                            "no configuration",
		"plan -c ABSENT":                                  "no such file",
		"plan -c ISC http://x":                            "docker://",
		"mirror -c BAD TO":                                "bad.yaml:4",
		"mirror -c ISC docker://localhost/A":              "lowercase",
		"mirror -c ISC TO --parallel-layers 0":            "--parallel-layers",
		"verify -c ABSENT TO":                             "no such file",
		"mirror --from DISK TO":                           "--from",
		"mirror --from DISK -c y --installed z TO":        "are for a configuration",
		"mirror --from DISK --complete-related-images TO": "--complete-related-images",
		// Archives.
		"archive extract DISK":                       "name a folder with --to",
		"archive extract DISK --to x --force":        "--file and --force are for --files",
		"archive list DISK --sequence -1":            "--sequence -1",
		"archive diff DISK --sequence 1":             "OLD,NEW",
		"archive inspect DISK":                       "and that the disk is mounted",
		"mirror -c ISC DISK --since 1 --full":        "--since and --full",
		"mirror -c ISC DISK --since=":                "--since is empty",
		"mirror -c ISC DISK --receipt=":              "--receipt is empty",
		"mirror -c ISC TO --full":                    "--base none is for file://",
		"mirror -c ISC TO --write-receipt ABSENT":    "--write-receipt is for --from",
		"mirror --repair REQUEST DISK --gate-plan x": "--gate-plan",
		"mirror -c ISC DISK --volume-size floppy":    "--volume-size",
		"verify DISK TO":                             "each of its folders",
		"serve DISK --htpasswd=":                     "--htpasswd is empty",
		"verify":                                     "arg",
		"verify --blobs oci://x":                     "--blobs is for docker://",
		"verify -c x DISK":                           "set none of --config",
		"verify -c x --plan y TO":                    "set one of --config",
		// A served archive.
		"serve":                             "1 argument is missing",
		"serve FOLDER":                      "write file:///",
		"serve docker://mirror.example.com": "write file://DIR",
		"serve DISK --tls-cert USERS":       "TLS requires --tls-cert and --tls-key|set both",
		"serve DISK --tls-cert USERS --tls-key USERS":              "--tls-cert |users",
		"serve DISK --tls-cert USERS --tls-key USERS --plain-http": "--plain-http is for a registry without",
		"serve DISK --htpasswd USERS":                              "--htpasswd |line 1|htpasswd -B",
		"serve DISK --address bastion.example.com":                 "--address is for the manifests",
		// Signatures.
		"mirror -c ISC DISK --sign-key LOCKED":                                 "encrypted and there is no terminal",
		"mirror -c ISC DISK --sign-key LOCKED --sign-passphrase-file ISC":      "the passphrase is wrong",
		"mirror -c ISC DISK --sign-key LOCKED.pub":                             "SSH_AUTH_SOCK",
		"mirror -c ISC DISK --sign-key ISC":                                    "not a usable private key",
		"mirror -c ISC DISK --sign-key=":                                       "--sign-key is empty",
		"mirror -c ISC TO --sign-key KEY":                                      "--sign-key is for file://",
		"mirror -c ISC DISK --verify-key KEY.pub":                              "--verify-key is for reading an archive",
		"mirror --from DISK TO --require-signature":                            "no trusted keys are known",
		"mirror --from DISK TO --signer ops":                                   "no trusted keys are known",
		"mirror --from DISK TO --verify-key KEY.pub --allowed-signers ALLOWED": "--verify-key and --allowed-signers",
		"verify DISK --verify-key KEY.pub --signer ops":                        "keys of --verify-key have no names",
		"plan -c ISC --policy=":                                                "--policy is empty",
		"plan -c ISC --policy ABSENT":                                          "--policy|no such file",
		"mirror -c ISC --registries.d ABSENT TO":                               "--registries.d is for a signature policy",
		"mirror -c ISC --policy ISC --image-policies v2 TO":                    `--image-policies "v2"; give v1 or v1alpha1 or none`,
		"verify --policy ISC DISK":                                             "--policy is for docker://",
		// Checks.
		"check --platform":                                   "--platform requires one mirror",
		"check --platform example.com/catalog:v1":            "--platform requires one mirror",
		"check --platform TO TO":                             "--platform requires one mirror",
		"check --platform --from 4.18.1 TO":                  "--from and --to are the ends of an update",
		"check --platform --cluster-version 4.20.1 TO":       "check operators in another run",
		"check --platform --crd-safety TO":                   "--crd-safety is for operators",
		"check -c no.yaml --to 4.20.2":                       "--to is for --platform",
		"check -c no.yaml --dest-tls-verify=false":           "--dest-tls-verify is for --platform",
		"check -c no.yaml --plan plan.json":                  "one thing must be checked",
		"check --crd-safety example.com/a:v1 --verify-key k": "no archive is read",
		"check CATALOG --dependencies":                       "--dependencies is for a configuration",
		// Jobs.
		"plan -c ISC --kubernetes-job 0 IMAGE TO":                      "--kubernetes-job is 0, and a plan has 1 to 1000 shards",
		"plan -c ISC --kubernetes-job 2 TO":                            "--kubernetes-job requires --kubernetes-image",
		"plan -c ISC IMAGE TO":                                         "--kubernetes-image is only for --kubernetes-job",
		"plan -c ISC --kubernetes-job 2 IMAGE -o json TO":              "--kubernetes-job prints YAML",
		"plan -c ISC --kubernetes-job 2 IMAGE --policy policy.json TO": "--kubernetes-job cannot be combined with --policy",
		"plan -c ISC --kubernetes-job 2 IMAGE --gate scan TO":          "--kubernetes-job cannot be combined with --gate",
		"plan -c ISC --kubernetes-job 2 IMAGE docker://user:secret@x":  "must not contain credentials",
		// Limits of requests, and credentials. Package limits tests the files.
		"mirror -c ISC TO --limits LIMITS":              "limits.yaml:3: hosts[0]: streams|limits.yaml:4: hosts[1]: the host is missing",
		"mirror -c ISC TO --limits ABSENT":              "reading limits|absent",
		"mirror -c ISC TO --limit-rate fast":            "--limit-rate: ",
		"mirror -c ISC TO --min-rate 100":               "--min-rate: |no unit",
		"mirror -c ISC TO --silent-timeout 2h":          "--silent-timeout 2h|from 1s to 1h",
		"mirror -c ISC TO --parallel-images 0":          `--parallel-images "0"; use a number from 1 to 100`,
		"mirror -c ISC TO --retry-times 99999999999999": "--retry-times 99999999999999|from 0 to 1000",
		"mirror -c ISC TO --retry-delay 1000000h":       "--retry-delay 1000000h|from 0 to 1h",
		"mirror -c ISC TO --src-authfile ABSENT":        "absent|--src-authfile|gantry registry login",
		"mirror -c ISC TO --authfile ISC":               "imageset.yaml (named by --authfile)|line 1 is not valid JSON",
		// Registries.
		"doctor file://x":                       "docker://",
		"registry prepare TO":                   "--config|--plan|--from",
		"mirror -c ISC --registry-kind quay TO": "--create-repositories",
		// Catalogs.
		"catalog build CATALOG docker://registry.example:5000":              "names no registry and repository", // not an image of docker.io
		"catalog build CATALOG docker://catalog":                            "names no registry and repository",
		"catalog build CATALOG oci://layout:v1":                             "give only the folder",
		"catalog build CATALOG docker://h.example/c --dest-authfile absent": "reading credentials from absent (named by --dest-authfile): no such file",
		"catalog list oci://nowhere":                                        "no such file",
		"catalog list quay.io/UPPER/catalog:v1":                             "must be lowercase",
		"catalog list quay.io/org/catalog:v1 --authfile absent":             "reading credentials from absent (named by --authfile): no such file",
		"catalog convert CATALOG --output-dir .":                            "use an empty or new folder",
		"graph CATALOG a --dependencies":                                    "--dependencies is for a configuration",
		"list operators --catalogs --version 4.20 --package a":              "require --catalog",
		"list operators --package a":                                        "require --catalog",
		"list operators --catalog quay.io/org/catalog --version 4":          `--version "4"`,
		"list operators --catalog quay.io/org/catalog --catalogs":           "--catalogs and --catalog exclude each other",
	} {
		args, run := strings.Fields(names.Replace(line)), w.gantry
		if args[0] == "archive" || args[0] == "serve" {
			run = w.bare
		}
		o := run(args...)
		if o.code != exitUsage || o.stdout != "" || strings.Contains(o.stderr, "secret") {
			t.Errorf("gantry %s ended with %d\n%s%s", line, o.code, o.stdout, o.stderr)
		}
		for word := range strings.SplitSeq(words, "|") {
			if !strings.Contains(o.stderr, word) {
				t.Errorf("gantry %s does not print %q:\n%s", line, word, o.stderr)
			}
		}
		if _, err := os.Stat(w.path("workspace")); err == nil {
			t.Fatalf("gantry %s made a workspace", line)
		}
	}
	fail.On(t, os.Chmod(key, 0o644))
	w.refuse(exitUsage, []string{"chmod 600"}, "mirror", "-c", w.path("imageset.yaml"), fileScheme+w.path("disk"), "--sign-key", key)
}
