package mirroring_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// change changes the options of a run.
type change = func(*mirroring.Options)

// series writes archives of one image set, whose second configuration has more content than the first. All content that
// images share is in the first archive.
type series struct {
	*mirrortest.Site
	months []string // configurations, from 1 on
}

func newSeries(t *testing.T) *series {
	t.Helper()
	s := &series{Site: mirrortest.New(t, registrytest.Options{})}
	first, second := s.Config("month1.yaml", mirrortest.FirstMonth), s.Config("month2.yaml", mirrortest.SecondMonth)
	s.months = []string{"", first, second, second}
	return s
}

// write writes the archive of a month to a folder.
func (s *series) write(month int, folder string, more ...change) (*airgap.ExportResult, error) {
	o := s.MirrorOptions(s.months[month], s.Archive(folder))
	o.Name = "ops"
	for _, c := range more {
		c(&o)
	}
	r, err := mirroring.Run(s.T.Context(), o)
	if r == nil {
		return nil, err
	}
	return r.Archive, err
}

// written is write that must succeed.
func (s *series) written(month int, folder string, more ...change) *airgap.ExportResult {
	s.T.Helper()
	r, err := s.write(month, folder, more...)
	fail.On(s.T, err)
	return r
}

// sequence checks which archive was written, and what it builds on.
func (s *series) sequence(got *airgap.ExportResult, sequence, buildsOn int) {
	s.T.Helper()
	if got.Sequence != sequence || got.BuildsOn != buildsOn || (got.Omitted != nil && got.Omitted.Bytes > 0) != (buildsOn > 0) || got.Set == "" {
		s.T.Errorf("sequence %d builds on %d, and omits %+v; want sequence %d on %d", got.Sequence, got.BuildsOn, got.Omitted, sequence, buildsOn)
	}
}

// importing imports the archive in folders at a site, which has its own workspace.
func (s *series) importing(site string, folders []string, more ...change) (*mirroring.Result, error) {
	o := s.MirrorOptions("", s.Docker(site))
	o.Workspace = s.Path("at-" + site)
	o.From = append(o.From, elements.Map(folders, s.Archive)...)
	for _, c := range more {
		c(&o)
	}
	return mirroring.Run(s.T.Context(), o)
}

// imports is importing that must succeed.
func (s *series) imports(site string, folders ...string) *mirroring.Result {
	s.T.Helper()
	r, err := s.importing(site, folders)
	fail.On(s.T, err)
	return r
}

// verify verifies folders of an archive.
func (s *series) verify(folders ...string) (*verify.VerifiedArchive, error) {
	o := verify.Options{Env: s.Env}
	o.Locations = append(o.Locations, elements.Map(folders, s.Archive)...)
	r, err := verify.Run(s.T.Context(), o)
	if r == nil {
		return nil, err
	}
	return r.Archive, err
}

// manifests returns the names of the set manifests in a folder.
func (s *series) manifests(folder string) string {
	s.T.Helper()
	files, err := filepath.Glob(s.Path(folder) + "/gantry-*.json")
	fail.On(s.T, err)
	for i := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(files[i]), "gantry-"), ".json")
	}
	return strings.Join(files, " ")
}

// said reports whether a notice or warning since the last call has all these words.
func (s *series) said(words ...string) bool {
	return slices.ContainsFunc(s.Said(), func(text string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	})
}

// receipt reads a receipt.
func (s *series) receipt(file string) *state.Receipt {
	s.T.Helper()
	r, err := state.ReadReceipt(strings.NewReader(s.Read(file)))
	fail.On(s.T, err)
	return r
}

// changes returns the requests that changed the mirror.
func changes(s *mirrortest.Site) []string {
	return mirrortest.Requests(s.Mirror, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete)
}

func onErrorPackage(o *mirroring.Options) { o.OnError = "package" }
func full(o *mirroring.Options)           { o.Full = true }

// trusting accepts only what the key in a file of SSHKey signed.
func (s *series) trusting(file string) change {
	return func(o *mirroring.Options) {
		o.Trust = func() (*sshsig.Policy, error) { return s.Policy(file), nil }
	}
}

// TestSequences writes the archives of three months and imports them at a site that gets every disk, and at one that misses
// the second.
func TestSequences(t *testing.T) {
	t.Parallel()
	s := newSeries(t)
	first := s.written(1, "disk1")
	s.sequence(first, 1, 0)
	s.Source.ResetLog()
	second := s.written(2, "disk2")
	s.sequence(second, 2, 1)
	for _, r := range mirrortest.Requests(s.Source, http.MethodGet) {
		if strings.Contains(r, "/lantern/store/blobs/") {
			t.Errorf("%s was read again", r)
		}
	}
	if third := s.written(3, "disk3"); third.Sequence != 3 || !third.Empty || third.Bytes > 64<<10 || third.AlreadyPresent {
		t.Errorf("the archive with nothing new is %+v", third)
	}
	if again := s.written(3, "disk3"); again.Sequence != 3 || !again.AlreadyPresent {
		t.Errorf("another run wrote %+v", again)
	}
	for _, disk := range []string{"disk1", "disk2", "disk3"} {
		if _, err := s.verify(disk); err != nil {
			t.Errorf("%s: %v", disk, err)
		}
	}

	// This site imports every disk.
	s.imports("all", "disk1")
	s.Mirror.ResetLog()
	s.imports("all", "disk2")
	for _, r := range mirrortest.Requests(s.Mirror, http.MethodGet) {
		if strings.Contains(r, "/blobs/") {
			t.Errorf("%s was read from the mirror, which can mount it", r)
		}
	}
	s.imports("all", "disk3")
	s.imports("all", "disk2")
	if !s.said("sequence 2 is older than sequence 3, which was imported before") {
		t.Error("an older archive was imported without a warning")
	}
	s.VerifyCatalog("all", mirrortest.Acme, 4)

	// An archive without new content has no plan. The plan is in the workspace of the site.
	v := verify.Options{Env: s.Env, Locations: []string{s.Docker("all")}, From: []string{s.Archive("disk3")}, Workspace: s.Path("at-all")}
	_, err := verify.Run(t.Context(), v)
	fail.On(t, err)
	v.Workspace = s.Path("at-none")
	_, err = verify.Run(t.Context(), v)
	mirrortest.Refused(t, err, advice.Mismatch, "sequence 3", "omits its plan", "bring gantry-000002 too")
	if s.Exists("at-none") {
		t.Error("verify made a workspace")
	}

	// This site missed the second disk: nothing is copied, and the message says what to do.
	s.imports("gap", "disk1")
	s.Mirror.ResetLog()
	_, err = s.importing("gap", []string{"disk3"})
	mirrortest.Refused(t, err, advice.Mismatch, "gantry-000002", "a second Options.From")
	if sent := changes(s.Site); len(sent) > 0 {
		t.Errorf("the mirror was changed: %v", sent)
	}
	s.imports("gap", "disk3", "disk2")
	s.VerifyCatalog("gap", mirrortest.Acme, 4)

	// A site can import all archives at once. Sequence 2 has its own plan, but needs sequence 1.
	s.imports("late", "disk3", "disk1", "disk2")
	s.VerifyCatalog("late", mirrortest.Acme, 4)
	_, err = s.importing("empty", []string{"disk2"})
	mirrortest.Refused(t, err, advice.Mismatch, "sequence 2 builds on 1, which this workspace has not imported", "bring gantry-000001 too", "are neither in "+s.Archive("disk2"))

	// Without its workspace, a site is checked by the content of its mirror.
	s.Remove("at-all")
	s.Said()
	if r := s.imports("all", "disk2"); r.Report.Copied > 0 || !s.said("which this workspace has not recorded as imported") {
		t.Errorf("without the workspace: %+v", r.Report)
	}
}

// TestSince checks which content an archive omits, and which archives are in each folder.
func TestSince(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	s.sequence(s.written(1, "a"), 1, 0)
	s.sequence(s.written(2, "a"), 2, 1)
	fail.Diff(t, "000001 000002", s.manifests("a"))
	if again := s.written(2, "a"); !again.AlreadyPresent || s.manifests("a") != "000001 000002" {
		t.Errorf("with nothing new: %+v", again)
	}
	s.sequence(s.written(2, "b", since(1)), 3, 1)
	s.sequence(s.written(2, "c", since(3)), 4, 3)
	s.sequence(s.written(2, "a", full), 5, 0)
	fail.Diff(t, "000005", s.manifests("a"))
	for name, tc := range map[string]struct {
		change change
		words  []string
	}{
		"no such archive": {since(9), []string{"wrote no sequence 9 of ", "set Options.Since to 1 (", "or 5 ("}},
		"no receipt":      {func(o *mirroring.Options) { o.Receipts = []string{s.Path("absent.json")} }, []string{"reading the receipt"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.write(2, "e", tc.change)
			mirrortest.Refused(t, err, advice.Input, tc.words...)
		})
	}

	// After the history is lost, the next archive builds on the one in the folder, unless that is damaged.
	s.written(1, "lost")
	s.Remove("workspace/archives")
	s.sequence(s.written(2, "lost"), 7, 6)
	fail.On(t, os.Truncate(s.Path("lost/gantry-000007.0001.tar"), 5000))
	s.Said()
	s.written(2, "lost")
	if !s.said("gantry-000007.json in " + s.Path("lost") + " is damaged, so that all content is written again") {
		t.Error("a damaged archive was replaced without a warning")
	}
	s.imports("healed", "lost")
}

// TestReceipt writes an archive from the site's receipt after a disk was lost on its way to the site.
func TestReceipt(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	ops, _ := s.SSHKey("ops", "")
	mallory, _ := s.SSHKey("mallory", "")
	written := func(file string) change { return func(o *mirroring.Options) { o.WriteReceipt = s.Path(file) } }
	s.written(1, "disk1")
	if r, err := s.importing("site", []string{"disk1"}, written("site.json"), s.SignedWith(ops)); err != nil || r.Receipt != s.Path("site.json") {
		t.Fatalf("%+v, %v", r, err)
	}
	s.written(2, "disk2") // this disk is lost
	_, err := s.importing("site", []string{"disk1"}, written("again.json"))
	fail.On(t, err)
	fail.Diff(t, s.Read("again.json"), s.Read("site.json"))
	given := func(o *mirroring.Options) { o.Receipts = []string{s.Path("site.json")} }
	_, err = s.write(3, "disk3", given, s.trusting(mallory))
	mirrortest.Refused(t, err, advice.Mismatch, "the receipt "+s.Path("site.json")+" is refused")
	_, err = s.write(3, "disk3", given, func(o *mirroring.Options) { o.Name = "others" })
	mirrortest.Refused(t, err, advice.Input, `is of "ops"`, `of "others"`)
	if s.Exists("disk3") {
		t.Error("something was written")
	}
	s.sequence(s.written(3, "disk3", given, s.trusting(ops)), 3, 1)
	s.imports("site", "disk3")
	s.VerifyCatalog("site", mirrortest.Acme, 4)
	at, err := filepath.Glob(s.Path("at-site/receipts/*/ops.json"))
	if err != nil || len(at) != 1 {
		t.Fatalf("%v, %v", at, err)
	}
	if r := s.receipt(strings.TrimPrefix(at[0], s.Dir)); len(r.Sets) != 2 || r.Sets[1].Sequence != 3 {
		t.Errorf("the receipt has %v", r.Sets)
	}
}

// TestArchiveOfOthers checks when an archive that the workspace did not write can be built on and signed.
func TestArchiveOfOthers(t *testing.T) {
	t.Parallel()
	mirrortest.Long(t)
	s := newSeries(t)
	ops, _ := s.SSHKey("ops", "")
	mallory, _ := s.SSHKey("mallory", "")
	in := func(name string) change { return func(o *mirroring.Options) { o.Workspace = s.Path(name) } }
	sign := s.SignedWith(ops)

	// An unsigned archive is neither built on nor signed.
	s.written(1, "other", in("at-mallory"))
	for _, dry := range []bool{false, true} {
		_, err := s.write(2, "other", in("w"), sign, func(o *mirroring.Options) { o.DryRun = dry })
		mirrortest.Refused(t, err, advice.Mismatch, "sequence 1 in "+s.Path("other"), "this workspace did not write it, and it is not signed")
	}
	if s.manifests("other") != "000001" || s.Exists("other/gantry-000001.json.sig") {
		t.Errorf("after the refusal the folder has %s", s.manifests("other"))
	}
	// A full archive does not depend on what is in the folder.
	s.sequence(s.written(2, "other", in("w"), sign, full), 2, 0)
	_, err := verify.Run(t.Context(), verify.Options{Env: s.Env, Locations: []string{s.Archive("other")}, Read: archive.OpenOptions{Signatures: s.Policy(ops)}})
	fail.On(t, err)

	// Signed with no key configured, with an untrusted key, and with a trusted key, on which a new workspace builds.
	s.written(1, "signed", in("at-mallory2"), s.SignedWith(mallory))
	_, err = s.write(2, "signed", in("new"), sign)
	mirrortest.Refused(t, err, advice.Mismatch, "this workspace did not write it", "no keys are known")
	_, err = s.write(2, "signed", in("new"), sign, s.trusting(ops))
	mirrortest.Refused(t, err, advice.Mismatch, "it is not a trusted key")
	s.sequence(s.written(2, "signed", in("new"), sign, s.trusting(mallory)), 2, 1)
}
