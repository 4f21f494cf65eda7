//go:build unix

package gates_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/gates"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// script writes a program that is asked.
func script(s *mirrortest.Site, name, text string) string {
	s.T.Helper()
	file := s.Write(name, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(file, 0o755); err != nil {
		s.T.Fatal(err)
	}
	return file
}

// questions reads what a script was asked.
func questions(s *mirrortest.Site, file string) (all []gates.GateImage) {
	s.T.Helper()
	for line := range strings.Lines(s.Read(file)) {
		var q gates.GateImage
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			s.T.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}

// mirrored mirrors a configuration with gates.
func mirrored(s *mirrortest.Site, config string, g gates.Gates, more ...func(*mirroring.Options)) (*mirroring.Result, error) {
	o := s.MirrorOptions(config, s.Docker("site"))
	o.Gates = g
	for _, change := range more {
		change(&o)
	}
	return mirroring.Run(s.T.Context(), o)
}

// TestGate refuses an image, which is then missing, and keeps its package out of the catalog.
func TestGate(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	isc := s.Path("imageset.yaml")
	scan := script(s, "scan.sh", `cat >> `+s.Path("asked")+`
case "$1" in
*/lantern/store@sha256:*) echo "CVE-2026-1 in $GANTRY_PLATFORM"; exit 1;;
esac`)
	r, err := mirrored(s, isc, gates.Gates{Gate: scan}, func(o *mirroring.Options) { o.OnError = selection.OnErrorPackage })
	mirrortest.Refused(t, err, advice.Partial)
	if x := r.Report.Excluded; len(x) == 0 || x[0].Package != "lantern" {
		t.Errorf("excluded: %+v", x)
	}
	asked := questions(s, "asked")
	platforms, indexes := map[string]bool{}, 0
	for _, q := range asked {
		platforms[q.Platform] = true
		if q.Index != "" {
			indexes++
		}
		if q.Size <= 0 || q.Digest == "" || len(q.Reasons) == 0 || !strings.HasSuffix(q.Reference, "@"+q.Digest.String()) || q.Kind == "catalog" {
			t.Errorf("the gate was asked %+v", q)
		}
	}
	if !platforms["linux/amd64"] || !platforms["linux/arm64"] || indexes == 0 {
		t.Errorf("the gate was asked about the platforms %v", platforms)
	}
	if g := r.Gate; g.Refused == 0 || g.Refused != len(g.Answers) || g.Accepted+g.Refused != len(asked) || !strings.Contains(g.Answers[0].Reason, "CVE-2026-1 in linux/") {
		t.Errorf("%+v", g)
	}

	// By default, the catalog is withheld; with OnErrorStop, the run ends.
	r, err = mirrored(s, isc, gates.Gates{Gate: scan})
	mirrortest.Refused(t, err, advice.Partial)
	if w := r.Report.Withheld; len(w) == 0 || !strings.Contains(fmt.Sprint(r.Report.Failed), "CVE-2026-1") {
		t.Errorf("withheld: %+v; failed: %+v", w, r.Report.Failed)
	}
	r, err = mirrored(s, isc, gates.Gates{Gate: scan}, func(o *mirroring.Options) { o.OnError = selection.OnErrorStop })
	mirrortest.Refused(t, err, advice.Failure, "stopped because images.example.net/lantern/store")
	if !strings.Contains(fmt.Sprint(r.Report.Failed), "CVE-2026-1") {
		t.Errorf("failed: %+v", r.Report.Failed)
	}
	if log := s.Read("workspace/audit.ndjson"); !regexp.MustCompile(`"gate".*/lantern/store@sha256:.*scan.sh","result":"refused".*CVE-2026-1 in linux/`).MatchString(log) {
		t.Errorf("no refused image is in\n%s", log)
	}
	o := planning.Options{Env: s.Env, Selection: selection.Selection{Config: isc}, Workspace: s.Workspace(), Gates: gates.Gates{Gate: scan}}
	pl, err := planning.Make(t.Context(), o)
	mirrortest.Refused(t, err, advice.Partial)
	if pl == nil || pl.Gate == nil || pl.Gate.Program != scan || pl.Gate.Refused == 0 {
		t.Errorf("the plan: %+v", pl)
	}
}

// TestRefused checks gates for plans, programs that fail, and programs that cannot be run. Nothing is written to the mirror.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	small := s.Config("small.yaml", mirrortest.StoreOnly)
	no := script(s, "no.sh", "grep '\"name\": \"small\"' >/dev/null || exit 3; echo \"$1 has too much\"; exit 1")
	broken := script(s, "broken.sh", "echo no database >&2; exit 3")
	for name, tc := range map[string]struct {
		gates gates.Gates
		kind  advice.Kind
		words []string
	}{
		"a plan":          {gates.Gates{GatePlan: no}, advice.Mismatch, []string{"refuses the plan sha256:", "has too much"}},
		"no reason":       {gates.Gates{GatePlan: script(s, "silent.sh", "exit 1")}, advice.Mismatch, []string{"silent.sh refuses the plan sha256:"}},
		"broken plan":     {gates.Gates{GatePlan: broken}, advice.Failure, []string{"could not decide", "status 3: no database"}},
		"broken":          {gates.Gates{Gate: broken}, advice.Failure, []string{"the program could decide about none of", "no database"}},
		"slow":            {gates.Gates{GatePlan: script(s, "slow.sh", "sleep 60"), GateTimeout: 200 * time.Millisecond}, advice.Failure, []string{"took longer than 200ms"}},
		"arguments":       {gates.Gates{Gate: "trivy image"}, advice.Input, []string{"Options.Gate: ", "one program, without arguments"}},
		"not executable":  {gates.Gates{Gate: s.Write("plain.sh", "exit 0")}, advice.Input, []string{"chmod +x"}},
		"valid alone":     {gates.Gates{GateValid: time.Hour}, advice.Input, []string{"are for Options.Gate"}},
		"parallel alone":  {gates.Gates{GatePlan: no, GateParallel: 2}, advice.Input, []string{"are for Options.Gate"}},
		"timeout alone":   {gates.Gates{GateTimeout: time.Second}, advice.Input, []string{"Options.GateTimeout is for gates"}},
		"negative values": {gates.Gates{Gate: no, GateParallel: -1}, advice.Input, []string{"cannot be negative"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mirrored(s, small, tc.gates)
			mirrortest.Refused(t, err, tc.kind, tc.words...)
		})
	}
	for _, r := range mirrortest.Requests(s.Mirror) {
		if !strings.HasPrefix(r, "GET ") && !strings.HasPrefix(r, "HEAD ") {
			t.Errorf("the mirror was sent %s", r)
		}
	}
	log := s.Read("workspace/audit.ndjson")
	for _, want := range []string{
		`"gate".*"subject":"plan","digest":"sha256:[0-9a-f]{64}","by":"\S*/no.sh","result":"refused".*has too much`,
		`"gate".*"plan".*broken.sh","result":"failed".*no database`,
	} {
		if !regexp.MustCompile(want).MatchString(log) {
			t.Errorf("%s is not in\n%s", want, log)
		}
	}
	// An archive's plan is gated at the site.
	disk := s.Exported(small, "disk")
	o := s.MirrorOptions("", s.Docker("site"))
	o.From, o.Workspace, o.GatePlan = []string{disk}, s.Path("inside"), no
	_, err := mirroring.Run(t.Context(), o)
	mirrortest.Refused(t, err, advice.Mismatch, "refuses the plan")
}

// TestRemembered asks a gate again only if its answer is no longer valid, or if the program is another one.
func TestRemembered(t *testing.T) {
	t.Parallel()
	s := mirrortest.New(t, registrytest.Options{})
	small := s.Config("small.yaml", mirrortest.StoreOnly)
	yes := script(s, "yes.sh", "cat >> "+s.Path("asked"))
	fine := script(s, "fine.sh", "exit 0")
	var remembered, asked []int
	for i, g := range []gates.Gates{
		{Gate: yes, GatePlan: fine, GateValid: time.Hour}, {Gate: yes, GatePlan: fine, GateValid: time.Hour}, {Gate: yes, GateValid: time.Nanosecond}, {Gate: yes, GateValid: time.Hour}, {Gate: yes},
	} {
		if i == 2 { // the time of an answer has no fractions of a second
			<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		}
		if i == 3 {
			script(s, "yes.sh", "cat >> "+s.Path("asked")+" # another version")
		}
		r, err := mirrored(s, small, g)
		fail.On(t, err)
		remembered, asked = append(remembered, r.Gate.Remembered), append(asked, len(questions(s, "asked")))
	}
	n := asked[0]
	if want := []int{n, n, 2 * n, 3 * n, 4 * n}; n == 0 || !slices.Equal(asked, want) || !slices.Equal(remembered, []int{0, n, 0, 0, 0}) {
		t.Errorf("asked %v, want %v; remembered %v", asked, want, remembered)
	}
	log := s.Read("workspace/audit.ndjson")
	for _, want := range []string{`"gate".*"plan".*fine.sh","result":"accepted"`, `"gate".*"by":"\S*/yes.sh","result":"accepted"`} {
		if !regexp.MustCompile(want).MatchString(log) {
			t.Errorf("%s is not in\n%s", want, log)
		}
	}
}
