package main

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// TestWrongCommandLines checks the whole message about a command line that cannot be read: no words of a library, and what to
// write instead.
func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"mirorr":                                 "unknown command \"mirorr\" for \"gantry\"; did you mean \"mirror\"?\nsee: gantry --help",
		"operators list":                         `unknown command "operators" for "gantry"; write gantry list operators`,
		"packages list log*":                     `unknown command "packages" for "gantry"; write gantry list packages 'log*'`,
		"image":                                  `unknown command "image" for "gantry"; write gantry list images or gantry release images`,
		"list package quay":                      `unknown command "package" for "gantry list"; write gantry list packages quay`,
		"catalog bundles":                        `unknown command "bundles" for "gantry catalog"; write gantry list bundles`,
		"list files ./x":                         `a catalog has no files: "./x"; name docker://HOST[:PORT][/PREFIX] or file://DIR`,
		"list charts quay.io/a/b:v1":             `a catalog has no charts: "quay.io/a/b:v1"; name docker://HOST[:PORT][/PREFIX] or file://DIR`,
		"list packages":                          `nothing to list packages of; name a catalog (--catalog, --config or --version), a mirror, docker://HOST[:PORT][/PREFIX], or an archive, file://DIR`,
		"list releases --at docker://x":          `--at is for the releases of a mirror or an archive; name one: docker://HOST[:PORT][/PREFIX] or file://DIR`,
		"list releases file://x --to 4.20.1":     `--to asks an update service, and a mirror or an archive is listed; leave out the flag, or file://x`,
		"packages list --catalog quay.io/a/b:v1": `unknown command "packages" for "gantry"; write gantry list packages with the same flags`,
		"list package -c x":                      `unknown command "package" for "gantry list"; write gantry list packages with the same flags`,
		"list docker://m packages quay*":         `unknown command "docker://m" for "gantry list"; write gantry list packages docker://m 'quay*'`,
		"tools":                                  `unknown command "tools" for "gantry"; write gantry release tools`,
		"zzz":                                    `unknown command "zzz" for "gantry"; run gantry --help`,
		"list quarks":                            `unknown command "quarks" for "gantry list"; write gantry list with one of: bundles, catalogs, channels, charts, files, images, operators, packages, releases`,
		"archive verify file:///srv/disk":        `unknown command "verify" for "gantry archive"; write gantry verify file:///srv/disk`,
		"mirror --form file:///srv/disk":         `unknown flag: --form; did you mean "--from"?; run gantry mirror --help`,
		"mirror -c":                              "--config has no value; run gantry mirror --help",
		"plan --lock":                            "--lock has no value; run gantry plan --help",
		"plan a b":                               `"b" is one argument too many; write gantry plan -c FILE [DESTINATION]`,
		"version now":                            `"now" is one argument too many; write gantry version`,
		"archive inspect":                        "1 argument is missing; write gantry archive inspect file://DIR...",
		"catalog diff a":                         "1 argument is missing; write gantry catalog diff OLD NEW",
		"catalog deprecate":                      "2 arguments are missing; write gantry catalog deprecate DIR PACKAGE [--channel CHANNEL | --bundle BUNDLE] {--message TEXT | --remove}",
		"plan --exit-code=maybe":                 `--exit-code "maybe"; write true or false, or leave the value out`,
		"mirror --parallel-images two":           `--parallel-images "two"; use a number from 1 to 100`,
		"archive list file://x --sequence a":     `--sequence "a"; write a whole number`,
		"mirror --retry-delay soon":              `--retry-delay "soon"; write a number and a unit: 30s, 5m, 1h`,
		"prune --older-than 30":                  `--older-than "30"; use a duration such as 30d, 4w or 72h`,
		"plan --output xml":                      `--output "xml"; use text or json, or --lock xml if it is the name of a file`,
	} {
		o := runGantry(t, "", strings.Fields(line)...)
		if o.code != exitUsage || o.stdout != "" {
			t.Errorf("%s: status %d, %q", line, o.code, o.stdout)
		}
		fail.Diff(t, "gantry: "+want+"\n", o.stderr)
	}
}
