//go:build unix

package gates_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/image/manifest"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// fakeScanner accepts the options that the real program has, and ends as it does: with a status if it finds something, and
// with 1 after an error.
const fakeScanner = `case "$*" in OPTIONS*@sha256:*) ;; *) echo "unknown flags: $*" >&2; exit 1;; esac
case "$*" in
*/lantern/store@*) echo "CVE-2026-1 CRITICAL"; exit FOUND;;
*/tools/netcheck@*) echo "unable to load the image" >&2; exit 1;;
esac`

// TestDocumentedScanners runs the scripts of docs/deploy/gates, with programs that behave as Trivy and Grype.
func TestDocumentedScanners(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{"trivy": `image\ --quiet\ --severity\ CRITICAL\ --ignore-unfixed\ --exit-code\ 10\ `, "grype": `--quiet\ --fail-on\ critical\ *registry:`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mirrortest.New(t, registrytest.Options{})
			text, err := os.ReadFile("../../docs/deploy/gates/" + name + ".sh")
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]string{"trivy": "10", "grype": "2"}[name]
			script(s, name, strings.NewReplacer("OPTIONS", options, "FOUND", found).Replace(fakeScanner))
			scan := script(s, "scan.sh", "PATH="+s.Dir+":$PATH\n"+strings.TrimPrefix(string(text), "#!/bin/sh\n"))
			r, err := mirrored(s, s.Path("imageset.yaml"), gates.Gates{Gate: scan}, func(o *mirroring.Options) { o.OnError = selection.OnErrorPackage })
			mirrortest.Refused(t, err, advice.Partial)
			said := fmt.Sprintf("%+v %+v", r.Gate.Answers, r.Report.Failed)
			for _, word := range []string{"CVE-2026-1", "lantern/store", "tools/netcheck", "unable to load"} {
				if !strings.Contains(said, word) {
					t.Errorf("the result does not contain %q: %s", word, said)
				}
			}
			if s.Has("site", "lantern/store") || s.Has("site", "tools/netcheck") || !s.Has("site", "must-gather") {
				t.Errorf("the mirror has %v", s.Tags("site"))
			}
		})
	}
}

// TestConvertedImages asks a gate about the originals of converted images, which are at the source.
func TestConvertedImages(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	o := s.PlanOptions(s.Path("imageset.yaml"))
	o.DestFormat = string(manifest.Docker)
	o.Gate = script(s, "scan.sh", "cat >> "+s.Path("asked")+"\ncase $1 in */lantern/store@*) exit 1;; esac")
	r, err := planning.Make(t.Context(), o)
	mirrortest.Refused(t, err, advice.Partial)
	if len(planning.ConvertedImages(r.Plan)) == 0 || !strings.Contains(fmt.Sprint(r.Plan.Missing), "lantern/store") {
		t.Errorf("%+v", r.Plan.Missing)
	}
	for _, q := range questions(s, "asked") {
		ref, err := reference.Parse(q.Reference)
		if err == nil {
			_, err = s.Source.Client().Pull(t.Context(), ref.Host+"/"+ref.Path, ref.Digest.String())
		}
		if err != nil || ref.Digest != q.Digest {
			t.Errorf("the gate was asked %+v, and the source has no such image: %v", q, err)
		}
	}
}
