package airgap

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// An importSite is the disconnected side, with its own mirror and workspace.
type importSite struct {
	*fixture
	ws       *state.Workspace
	registry *registry
	said     []string
	warned   []string
	older    bool // ImportOptions.AllowOlder
}

func (w *fixture) importSite() *importSite {
	w.t.Helper()
	return &importSite{fixture: w, ws: w.workspace("far"), registry: newRegistry()}
}

// fit opens folders and checks whether the newest archive in them fits.
func (f *importSite) fit(p *plan.Plan, site *Site, folders ...string) (*Import, error) {
	f.t.Helper()
	f.said, f.warned = nil, nil
	return CheckImport(f.t.Context(), f.ws, f.open(folders...), p, site, ImportOptions{
		From: folders, AllowOlder: f.older,
		Info: func(text string) { f.said = append(f.said, text) },
		Warn: func(text string) { f.warned = append(f.warned, text) },
	})
}

// bring imports the newest archive in folders, and returns the path of the receipt.
func (f *importSite) bring(p *plan.Plan, opts ReceiptOptions, folders ...string) (string, error) {
	f.t.Helper()
	site := f.registry.site()
	c, err := f.fit(p, site, folders...)
	if err != nil {
		return "", err
	}
	report, err := mirror.Run(f.t.Context(), p, c.Archive, f.registry, mirror.Options{MountFrom: site.MountFrom})
	fail.On(f.t, err)
	return c.WriteReceipt(f.t.Context(), p, report, opts)
}

func (f *importSite) mustBring(p *plan.Plan, folders ...string) string {
	f.t.Helper()
	file, err := f.bring(p, ReceiptOptions{}, folders...)
	fail.On(f.t, err)
	return file
}

// TestChain imports the archives of three months at a site that gets every disk.
func TestChain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(3)
	f := w.importSite()
	for i := 1; i <= 3; i++ {
		file := f.mustBring(w.month(i), fmt.Sprintf("disk%d", i))
		r := readBackReceipt(t, file)
		if len(r.Sets) != i || r.Sets[i-1].Sequence != i || len(r.Repositories) != i {
			t.Errorf("the receipt has %+v in %d repositories", r.Sets, len(r.Repositories))
		}
		if f.said != nil || f.warned != nil {
			t.Errorf("month %d says %q, %q", i, f.said, f.warned)
		}
	}
	// Without its receipts, the content of the mirror decides.
	fail.On(t, os.RemoveAll(w.path("far/receipts")))
	f.mustBring(w.month(3), "disk3")
	if want := []string{"gantry-000003.json builds on sequence 2, which this workspace has not recorded as imported; the mirror has the omitted content"}; !cmp.Equal(f.said, want) {
		t.Errorf("it says %q", f.said)
	}
}

func readBackReceipt(t *testing.T, file string) *state.Receipt {
	t.Helper()
	in, err := os.Open(file)
	fail.On(t, err)
	defer in.Close()
	r, err := state.ReadReceipt(in)
	fail.On(t, err)
	return r
}

// TestGaps checks that the error names the archives that are needed too.
func TestGaps(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before  []int // the months that the site imported
		change  func(*importSite)
		nowhere bool // whether the destination is not a mirror
		folders []string
		words   []string // words of the error; nil if the archive fits
	}{
		"the first alone":   {nil, nil, false, []string{"disk1"}, nil},
		"none was imported": {nil, nil, false, []string{"disk2"}, []string{"sequence 2 builds on 1, which this workspace has not imported: ", "neither in disk2 nor at the mirror", "bring gantry-000001 too", "with Options.Full"}},
		"one is missing": {[]int{1}, nil, false, []string{"disk3"}, []string{
			"sequence 3 builds on 2, which this workspace has not imported: 2 manifests and blobs (", "bring gantry-000002 too and name its folder with a second Options.From", "with Options.Since 1"}},
		"the first is missing": {nil, nil, false, []string{"disk3", "disk2"}, []string{
			"sequence 3 builds on 1, which this workspace has not imported: ", "neither in disk3, disk2 nor at the mirror", "bring gantry-000001 too and name its folder with another Options.From", "with Options.Full"}},
		"two are missing": {nil, nil, false, []string{"disk3"}, []string{
			"sequence 3 builds on 2, which this workspace has not imported: ", "bring gantry-000002 too, and the archives that it builds on, and name their folders with Options.From", "with Options.Full"}},
		"two are missing below": {nil, nil, false, []string{"disk4", "disk3"}, []string{
			"sequence 4 builds on 2, which this workspace has not imported: ", "neither in disk4, disk3 nor at the mirror", "bring gantry-000002 too, and the archives that it builds on"}},
		"the mirror lost the first": {[]int{1}, func(f *importSite) { f.registry.lose("") }, false, []string{"disk3", "disk2"}, []string{
			"sequence 3 builds on 1, which this workspace imported, but the mirror has lost it", "bring gantry-000001 too and name its folder with another Options.From"}},
		"it is there":            {[]int{1}, nil, false, []string{"disk3", "disk2"}, nil},
		"all are there":          {nil, nil, false, []string{"disk1", "disk3", "disk2"}, nil},
		"no mirror":              {nil, nil, true, []string{"disk2"}, []string{"at the destination, which is not a mirror", "bring gantry-000001 too"}},
		"no mirror, all there":   {nil, nil, true, []string{"disk2", "disk1"}, nil},
		"the mirror was emptied": {[]int{1, 2}, func(f *importSite) { f.registry.lose("") }, false, []string{"disk3"}, []string{"sequence 3 builds on 2, which this workspace imported, but the mirror has lost it or has it under other names", "bring gantry-000002 too, and the archives that it builds on", "with Options.Full"}},
		"the mirror lost some":   {[]int{1, 2}, func(f *importSite) { f.registry.lose(repository(1)) }, false, []string{"disk3"}, nil},
		"emptied, all there":     {[]int{1, 2}, func(f *importSite) { f.registry.lose("") }, false, []string{"disk3", "disk2", "disk1"}, nil},
		"emptied, with a gap": {[]int{1}, func(f *importSite) { f.registry.lose("") }, false, []string{"disk3"}, []string{
			"sequence 3 builds on 2, which this workspace has not imported, and the mirror has lost content that it imported or has it under other names: ",
			"bring gantry-000002 too, and the archives that it builds on", "with Options.Full"}},
		"emptied, with a gap above": {[]int{1, 2}, func(f *importSite) { f.registry.lose("") }, false, []string{"disk4"}, []string{
			"sequence 4 builds on 3, which this workspace has not imported, and the mirror has lost content", "bring gantry-000003 too, and the archives that it builds on", "with Options.Full"}},
		"emptied, one of two gaps is there": {[]int{1, 2}, func(f *importSite) { f.registry.lose("") }, false, []string{"disk4", "disk3"}, []string{
			"sequence 4 builds on 2, which this workspace imported, but the mirror has lost it", "bring gantry-000002 too, and the archives that it builds on", "with Options.Full"}},
		"two are missing above an imported one": {[]int{1}, nil, false, []string{"disk4"}, []string{
			"sequence 4 builds on 3, which this workspace has not imported: ", "bring gantry-000003 too, and the archives that it builds on, and name their folders", "with Options.Since 1"}},
		"a volume is missing": {nil, func(f *importSite) { fail.On(f.t, os.Remove(f.path("disk1/gantry-000001.0001.tar"))) }, false, []string{"disk2", "disk1"}, []string{
			"sequence 2 omits content of earlier archives: ", "gantry-000001.0001.tar (sequence 1, volume 1 of 1) is in none of ", "copy these volumes again, or name the folders that have them with Options.From"}},
		"another receipt": {[]int{1}, func(f *importSite) {
			f.saveReceipt(&state.Receipt{Name: "ops", Sets: []state.SetRef{{Sequence: 1, Set: f.month(1).Manifests[0].Digest}}})
			f.registry.lose("")
		}, false, []string{"disk2"}, []string{"sequence 2 builds on 1, which this workspace has not imported"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.months(4)
			f := w.importSite()
			for _, i := range tc.before {
				f.mustBring(w.month(i), fmt.Sprintf("disk%d", i))
			}
			if tc.change != nil {
				tc.change(f)
			}
			site := f.registry.site()
			if tc.nowhere {
				site = nil
			}
			have := f.open(tc.folders...)
			_, err := f.fit(w.month(have.Selected().Sequence), site, tc.folders...)
			if tc.words == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused(t, err, advice.Mismatch, tc.words...)
		})
	}
}

func (f *importSite) saveReceipt(r *state.Receipt) {
	f.t.Helper()
	if _, err := f.ws.SaveReceipt("mirror", "ops", r.Write); err != nil {
		f.t.Fatal(err)
	}
}

// TestEmptiedMirrorWithCheckBlobs checks that an import with CheckBlobs into an emptied mirror
// continues, because the next archive needs the receipt of that run.
func TestEmptiedMirrorWithCheckBlobs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(2)
	f := w.importSite()
	f.mustBring(w.month(1), "disk1")
	f.registry.lose("")
	site := f.registry.site()
	site.CheckBlobs = true
	_, err := f.fit(w.month(2), site, "disk2")
	fail.On(t, err)
}

// TestMoreFolders checks that more folders are requested until nothing is missing.
func TestMoreFolders(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(3)
	f := w.importSite()
	more := func(folders ...string) (asked []string, c *Import, err error) {
		from := []string{"disk3"}
		have := f.open("disk3")
		c, err = CheckImport(t.Context(), f.ws, have, w.month(3), f.registry.site(), ImportOptions{From: from, AskFolder: func(problem error, sequence int) (*archive.Archive, []string, error) {
			asked = append(asked, problem.Error())
			fail.Diff(t, 3, sequence)
			if len(folders) == 0 {
				return nil, nil, nil
			}
			from, folders = append(from, folders[0]), folders[1:]
			return f.open(from...), from, nil
		}})
		return asked, c, err
	}
	asked, c, err := more("disk2", "disk1")
	if err != nil || len(asked) != 2 || !strings.Contains(asked[0], "neither in disk3 nor") || !strings.Contains(asked[1], "neither in disk3, disk2 nor") {
		t.Fatalf("it asks %q, %v", asked, err)
	}
	for desc := range mirror.Content(w.month(3)) {
		if c.Archive.CheckContent(desc) != nil {
			t.Errorf("%s cannot be read", desc.Digest)
		}
	}
	asked, _, err = more()
	refused(t, err, advice.Mismatch, "bring gantry-000002 too")
	fail.Diff(t, 1, len(asked))
	// In this folder, another archive has the number of the one that is read.
	_, err = w.write(w.workspace("elsewhere"), w.named("ops", 1), w.to("other", Since{}))
	fail.On(t, err)
	_, err = CheckImport(t.Context(), f.ws, f.open("disk3"), w.month(3), f.registry.site(), ImportOptions{AskFolder: func(error, int) (*archive.Archive, []string, error) {
		return f.open("other"), []string{"disk3", "other"}, nil
	}})
	refused(t, err, advice.Mismatch, "sequence 3 in disk3, other was sha256:", "it changed while it was read")
	broken := errors.New("no terminal")
	if _, err = CheckImport(t.Context(), f.ws, f.open("disk3"), w.month(3), f.registry.site(), ImportOptions{AskFolder: func(error, int) (*archive.Archive, []string, error) {
		return nil, nil, broken
	}}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestUnreadableReceipt checks that the error about an unreadable receipt names the file to remove.
func TestUnreadableReceipt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	f := w.importSite()
	file := f.mustBring(w.month(1), "disk1")
	fail.On(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err := f.fit(w.month(1), f.registry.site(), "disk1")
	refused(t, err, advice.Mismatch, "was altered or damaged", `reading what mirror has of "ops"`, "remove that file below receipts")
}

// TestPlanLeftOut checks that the plan of an archive that leaves it out can be read.
func TestPlanLeftOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(2)
	w.must(w.month(2), "same", Since{})
	f := w.importSite()
	have := f.open("same")
	_, reason := ReadPlan(t.Context(), have)
	if !errors.Is(reason, os.ErrNotExist) {
		t.Fatalf("it has the plan: %v", reason)
	}
	imported := func(ws *state.Workspace) error {
		p, err := ImportedPlan(ws, "mirror", have, reason)
		if err == nil && len(p.Images) != 2 {
			t.Errorf("the plan has %d images", len(p.Images))
		}
		return err
	}
	words := []string{"sequence 3 in " + w.path("same") + " omits its plan, which is the plan of sequence 2", "bring gantry-000002 too", "Options.Full"}
	refused(t, imported(nil), advice.Mismatch, words...)
	refused(t, imported(f.ws), advice.Mismatch, words...)
	f.mustBring(w.month(1), "disk1")
	refused(t, imported(f.ws), advice.Mismatch, words...)
	f.mustBring(w.month(2), "disk2")
	fail.On(t, imported(f.ws))
	f.mustBring(w.month(2), "same")
	fail.On(t, os.WriteFile(w.path("far/imported/mirror/ops.json"), []byte("{"), 0o600))
	if err := imported(f.ws); err == nil || !strings.Contains(err.Error(), "reading the plan that was imported before") {
		t.Error(err)
	}
}

// TestReadBack checks that content that an archive leaves out is read from the mirror.
func TestReadBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(2)
	f := w.importSite()
	f.mustBring(w.month(1), "disk1")
	site := f.registry.site()
	p := w.month(2)
	c, err := f.fit(p, site, "disk2")
	fail.On(t, err)
	if want := []string{repository(1)}; !cmp.Equal(site.OtherRepositories, want) {
		t.Errorf("the omitted content is in %v", site.OtherRepositories)
	}
	from := SourceWithSite(c.Archive, site, p)
	read := func() error {
		for _, b := range p.Blobs {
			body, err := from.Blob(t.Context(), source(2), describe(p, b.Digest), 0)
			if err != nil {
				return err
			}
			_ = body.Close()
		}
		return nil
	}
	// The location of content that only the first image has is unknown.
	own := describe(p, p.Images[0].Digest)
	if site.MountFrom(own) != "" {
		t.Error("a manifest is looked for elsewhere")
	}
	p.Blobs = onlyOf(p, p.Images[1].Digest)
	fail.On(t, read())
	f.registry.lose("")
	if err := read(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gantry-000001.json") {
		t.Errorf("of a mirror that lost it: %v", err)
	}
}

// onlyOf returns the blobs of one image.
func onlyOf(p *plan.Plan, d interface{ String() string }) []plan.Blob {
	var all []plan.Blob
	for _, m := range p.Manifests {
		if m.Digest.String() != d.String() {
			continue
		}
		for _, b := range p.Blobs {
			for _, of := range m.Blobs {
				if of == b.Digest {
					all = append(all, b)
				}
			}
		}
	}
	return all
}
