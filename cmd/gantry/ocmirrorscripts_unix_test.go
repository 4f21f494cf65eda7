//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// scriptCatalog has packages with and without a name for people, which may have spaces, several channels, and
// versions whose order is not that of their text.
const scriptCatalog = fooCatalog + `{"schema":"olm.package","name":"beaver","defaultChannel":"stable-2.x"}
{"schema":"olm.channel","package":"beaver","name":"fast","entries":[{"name":"beaver.v1.9.0"},{"name":"beaver.v1.10.0","replaces":"beaver.v1.9.0"}]}
{"schema":"olm.channel","package":"beaver","name":"stable-2.x","entries":[{"name":"beaver.v2.0.1"}]}
{"schema":"olm.bundle","package":"beaver","name":"beaver.v1.9.0","image":"quay.io/org/beaver@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","properties":[{"type":"olm.package","value":{"packageName":"beaver","version":"1.9.0"}},{"type":"olm.csv.metadata","value":{"displayName":"Old beaver"}}]}
{"schema":"olm.bundle","package":"beaver","name":"beaver.v1.10.0","image":"quay.io/org/beaver@sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","properties":[{"type":"olm.package","value":{"packageName":"beaver","version":"1.10.0"}}]}
{"schema":"olm.bundle","package":"beaver","name":"beaver.v2.0.1","image":"quay.io/org/beaver@sha256:2123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","properties":[{"type":"olm.package","value":{"packageName":"beaver","version":"2.0.1"}},{"type":"olm.csv.metadata","value":{"displayName":"Beaver for Dams"}}]}
`

// TestOcMirrorScripts runs what public scripts do with the output of oc mirror: C is a catalog, R a registry.
func TestOcMirrorScripts(t *testing.T) {
	t.Parallel()
	w := ocMirrorFixture(t)
	w.write("catalog/catalog.json", scriptCatalog)
	w.must("catalog", "build", w.path("catalog"), w.docker("/redhat/my-index:v4.20"))
	program, err := os.Executable()
	fail.On(t, err)
	fail.On(t, os.Symlink(program, w.path("oc-mirror")))
	env := append(w.environ(), "PATH="+w.path(".")+":"+os.Getenv("PATH"), "C="+w.mirror.Host+"/redhat/my-index:v4.20", "R="+w.mirror.Host)
	dir := w.folder()
	absent := strings.Replace(w.read("isc.yaml"), "  - name:", "  - name: images.example.net/tools/absent:1\n  - name:", 1)
	fail.On(t, os.WriteFile(filepath.Join(dir, "absent.yaml"), []byte(absent), 0o600))
	for _, tc := range []struct{ script, want string }{
		// Packages.
		{`oc-mirror list operators --catalog $C`, "NAME    DISPLAY NAME     DEFAULT CHANNEL\nbeaver  Beaver for Dams  stable-2.x\nfoo                      stable\n"},
		{`oc-mirror list operators --catalog=$C | awk '{print $1,$NF}'`, "NAME CHANNEL\nbeaver stable-2.x\nfoo stable\n"},
		{`oc-mirror list operators --catalog $C | awk '/^NAME/{flag=1; next} flag' | grep "^beaver " | awk '{print $1, $NF}'`, "beaver stable-2.x\n"},
		{`oc-mirror list operators --catalog=$C --v2 | cut -d " " -f1 | tail -n +2`, "beaver\nfoo\n"},
		{`oc-mirror list operators --catalog=$C | awk '{if (NR>1) print $1}'`, "beaver\nfoo\n"},
		// Channels.
		{`oc-mirror list operators --catalog $C --package beaver`, "NAME    DISPLAY NAME     DEFAULT CHANNEL\nbeaver  Beaver for Dams  stable-2.x\n\nPACKAGE  CHANNEL     HEAD\nbeaver   fast        beaver.v1.10.0\nbeaver   stable-2.x  beaver.v2.0.1\n"},
		{`oc-mirror list operators --catalog=$C --package=foo 2>&1 | grep -A1 "DEFAULT CHANNEL" | tail -1 | awk '{print $NF}'`, "stable\n"},
		{`oc-mirror list operators --catalog=$C --package=beaver | grep NAME -A1 | grep -Ev "NAME|--" | awk '{ print $1 "," $NF }'`, "beaver,stable-2.x\n"},
		{`oc-mirror list operators --catalog $C --package beaver --v2 2>&1 | grep -A 1000 "^PACKAGE" | tail -n +2 | grep -v "^$" | awk '{print $3}'`, "beaver.v1.10.0\nbeaver.v2.0.1\n"},
		{`oc-mirror list operators --catalog=$C --version=4.20 --package=beaver --v1 2>/dev/null | awk '$1 == "PACKAGE" && $2 == "CHANNEL" { channels = 1; next } channels && NF { print $2 }'`, "fast\nstable-2.x\n"},
		{`oc-mirror list operators --catalog=$C --version=4.20 --package=beaver --v1 2>/dev/null | awk '$1 == "NAME" && $2 == "DISPLAY" { summary = 1; next } summary && NF { print $NF; exit }'`, "stable-2.x\n"},
		// Versions.
		{`oc-mirror list operators --catalog=$C --package=beaver --channel=fast`, "VERSIONS\n1.9.0\n1.10.0\n"},
		{`oc-mirror list operators --catalog=$C --package=beaver --channel=fast 2>/dev/null | grep -E '^[0-9]+\.[0-9]+' | tail -1`, "1.10.0\n"},
		{`oc-mirror list operators --catalog=$C --package=foo --channel=stable | sort -rn | grep -Ev ^VERSION`, "1.0.0\n"},
		// Catalogs.
		{`oc-mirror list operators --catalogs --version=4.20`, "Available OpenShift OperatorHub catalogs:\nOpenShift 4.20:\nregistry.redhat.io/redhat/redhat-operator-index:v4.20\n"},
		{`for i in $(oc-mirror list operators --catalogs --version=4.20 | grep registry); do echo $i | cut -b 27- | rev | cut -b 7- | rev; done`, "redhat-operator-index\n"},
		{`oc-mirror list operators`, "Available OpenShift OperatorHub catalog versions:\n  v4.20\n"},
		// Releases.
		{`oc-mirror list releases --channel=stable-4.18 2>/dev/null`, "Listing stable channels. Use --channel=<name> to filter.\nUse oc-mirror --v2 list releases --channels --version=4.18 to discover other channels.\n\nChannel: stable-4.18\nArchitecture: amd64\n4.18.1\n4.18.2\n"},
		{`oc-mirror list releases --channel=stable-4.20 2>/dev/null | tail -1`, "4.20.1\n"},
		{`oc-mirror list releases --channel=eus-4.20 --v2 | awk '/^[0-9]+\.[0-9]+\.[0-9]+([.-][a-zA-Z0-9]+)*$/ { print }' | sort -Vu | tail -n1`, "4.20.2\n"},
		{`oc-mirror list releases --version=4.18 2>/dev/null | grep -E '^[0-9]+\.[0-9]+\.[0-9]+$' | head -1`, "4.18.1\n"},
		{`oc-mirror list releases --version=4.18 --channels --v2 | head -2`, "Listing channels for version 4.18:\n\n"},
		{`oc-mirror list releases --version=4.20 --channels --v2 | grep -E '^[a-z]+-[0-9]+\.[0-9]+$' | sort | head -1`, "eus-4.20\n"},
		{`oc-mirror list releases --channel=stable-4.20 --filter-by-archs=amd64,multi | grep -A1 Architecture | tail -2`, "Architecture: multi\n4.20.1\n"},
		{`oc-mirror list releases`, "Available OpenShift Container Platform release versions:\n  4.18\n  4.20\n"},
		{`oc-mirror list releases | grep -v Available | tail -1 | tr -d ' '`, "4.20\n"},
		// The version.
		{`oc-mirror version 2>/dev/null | grep 'GitVersion' | awk -F '"' '{print $6}' | cut -d'.' -f1,2`, "4.22\n"},
		{`oc-mirror version 2>&1 | awk 'match($0, /GitVersion:"[^"]+"/) { value=substr($0, RSTART, RLENGTH); gsub(/GitVersion:|"|v/, "", value); print value; exit }' | cut -d- -f1`, "4.22.0\n"},
		{`oc-mirror version --short | cut -d: -f1`, "Client Version\n"},
		{`oc-mirror version --output json | tr , '\n' | grep '"gitVersion"' | cut -d '"' -f4 | cut -d- -f1`, "4.22.0\n"},
		// A run: what it prints, and its files.
		{`oc-mirror -c isc.yaml file://work --v2 2>/dev/null > out; grep "images to copy" out | grep -oE '[0-9]+' | tail -1`, "1\n"},
		{`grep -E '\[INFO\] +: .*images mirrored' out | grep -oE '✓ +[0-9]+ / [0-9]+ additional images mirrored successfully'`, "✓ 1 / 1 additional images mirrored successfully\n"},
		{`ls work/working-dir/logs | sed -E 's/[0-9]+/N/g'; grep -c 'Success copying images.example.net/tools/netcheck:1.4' work/working-dir/logs/oc-mirror-*.log`, "oc-mirror-N_N.log\n1\n"},
		{`grep -o '✓.*' work/working-dir/logs/oc-mirror-*.log; grep -c ERROR work/working-dir/logs/oc-mirror-*.log`, "✓ 1 / 1 additional images mirrored successfully\n0\n"},
		{`oc-mirror -c absent.yaml --workspace file://direct docker://$R/y --v2 2>/dev/null | grep -c '✗ 1 / 2 additional images mirrored: Some additional images failed'; ls direct/working-dir/logs | sed -E 's/[0-9]+/N/g'; grep -c ERROR direct/working-dir/logs/oc-mirror-*.log`, "1\nmirroring_errors_N_N.txt\noc-mirror-N_N.log\n1\n"},
		{`oc-mirror -c isc.yaml --workspace file://direct docker://$R/z --v2 --output json 2>/dev/null | head -c 12`, `{"version":1`},
		{`ls work/gantry-000001.json work/working-dir/plans/isc.json direct/working-dir/cluster-resources/itms-oc-mirror.yaml`,
			"direct/working-dir/cluster-resources/itms-oc-mirror.yaml\nwork/gantry-000001.json\nwork/working-dir/plans/isc.json\n"},
		{`oc-mirror -c isc.yaml --from work docker://$R/d2m --v2 2>/dev/null | grep -c 'additional images mirrored successfully'; ls work/working-dir/cluster-resources/*.yaml`, "1\nwork/working-dir/cluster-resources/itms-oc-mirror.yaml\n"},
		// Deletion: the list, what it deletes, and the list again.
		{`oc-mirror delete --generate --config disc.yaml --workspace file://direct docker://$R/z --v2 2>/dev/null > out; grep -c 'Generating delete file...' out; awk '/file created/{print $5}' out | sed 's#.*direct#direct#'; tail -1 out | cut -d: -f4`,
			"1\ndirect/working-dir/delete\n \U0001F44B Goodbye, thank you for using oc-mirror\n"},
		{`oc-mirror delete --delete-yaml-file direct/working-dir/delete/delete-images.yaml docker://$R/z --v2 2>/dev/null > out; grep "images to delete" out | grep -oE '[0-9]+' | tail -1; grep -E '\[INFO\] +: .*images deleted' out | grep -oE '✓ +[0-9]+ / [0-9]+ additional images deleted successfully'`,
			"1\n✓ 1 / 1 additional images deleted successfully\n"},
		{`grep -c "Start deleting the images..." out; awk '/Success deleting/{print $7}' out; grep -c "Remember to execute a garbage collect" out; grep -c "delete time  " out; grep -c ERROR out`,
			"1\ndocker://images.example.net/tools/netcheck:1.4\n1\n1\n0\n"},
		{`oc-mirror delete --delete-yaml-file w/delete-images.yaml docker://$R/x --v2 2>/dev/null | grep -oE '(✓|✗) +[0-9]+ / [0-9]+'`, "✓ 1 / 1\n"},
		{`oc-mirror delete --generate --config disc.yaml --workspace file://direct docker://$R/z --v2 2>/dev/null | grep -c "no images to delete..."`, "1\n"},
		{`oc-mirror delete --delete-yaml-file direct/working-dir/delete/delete-images.yaml docker://$R/z --v2 --output json 2>/dev/null | head -c 12`, `{"version":1`},
	} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", tc.script)
		cmd.Dir, cmd.Env = dir, env
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, _ := cmd.Output() // the last command decides, and grep -c ends with 1 for 0
		if diff := cmp.Diff(tc.want, string(out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s%s", tc.script, diff, stderr.String())
		}
	}
}
