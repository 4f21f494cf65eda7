package carry

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// A far side has a mirror and a workspace of its own.
type far struct {
	*world
	ws       *workspace.Workspace
	registry *registry
	said     []string
	warned   []string
}

func (w *world) far() *far {
	w.t.Helper()
	return &far{world: w, ws: w.workspace("far"), registry: newRegistry()}
}

// fit opens folders and looks whether the newest archive in them fits.
func (f *far) fit(p *plan.Plan, site *Site, folders ...string) (*Chain, error) {
	f.t.Helper()
	f.said, f.warned = nil, nil
	return Fit(f.t.Context(), f.ws, f.open(folders...), p, site, FitOptions{
		From: folders,
		Say:  func(text string) { f.said = append(f.said, text) },
		Warn: func(text string) { f.warned = append(f.warned, text) },
	})
}

// bring imports the newest archive in folders, and returns the file of the receipt.
func (f *far) bring(p *plan.Plan, opts NoteOptions, folders ...string) (string, error) {
	f.t.Helper()
	site := f.registry.site()
	c, err := f.fit(p, site, folders...)
	if err != nil {
		return "", err
	}
	report, err := mirror.Run(f.t.Context(), p, c.Archive, f.registry, mirror.Options{Elsewhere: site.Elsewhere})
	if err != nil {
		f.t.Fatal(err)
	}
	return c.Note(f.t.Context(), p, report, opts)
}

func (f *far) mustBring(p *plan.Plan, folders ...string) string {
	f.t.Helper()
	file, err := f.bring(p, NoteOptions{}, folders...)
	if err != nil {
		f.t.Fatal(err)
	}
	return file
}

// TestChain brings three months to a site that has every disk.
func TestChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(3)
	f := w.far()
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
	// Without its receipts, the site is told by what its mirror has.
	if err := os.RemoveAll(w.path("far/receipts")); err != nil {
		t.Fatal(err)
	}
	f.mustBring(w.month(3), "disk3")
	if want := []string{"gantry-000003.json builds on sequence 2, of which this workspace does not know that it was imported; the mirror has what is left out"}; !cmp.Equal(f.said, want) {
		t.Errorf("it says %q", f.said)
	}
}

func readBackReceipt(t *testing.T, file string) *receipt.Receipt {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := receipt.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGaps names what has to be carried too.
func TestGaps(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before  []int // months that the site imported
		change  func(*far)
		nowhere bool // the destination is no mirror
		folders []string
		words   []string // of the refusal; nil where it fits
	}{
		"the first alone":   {nil, nil, false, []string{"disk1"}, nil},
		"none was imported": {nil, nil, false, []string{"disk2"}, []string{"sequence 2 builds on 1, which this site never imported: ", "neither in disk2 nor at the mirror", "carry gantry-000001 too", "with --full"}},
		"one is missing": {[]int{1}, nil, false, []string{"disk3"}, []string{
			"sequence 3 builds on 2, which this site never imported: 2 manifests and blobs (", "carry gantry-000002 too and name its folder with a second --from", "with --since 1"}},
		"it is there":            {[]int{1}, nil, false, []string{"disk3", "disk2"}, nil},
		"all are there":          {nil, nil, false, []string{"disk1", "disk3", "disk2"}, nil},
		"no mirror":              {nil, nil, true, []string{"disk2"}, []string{"at the destination, which is no mirror", "carry gantry-000001 too"}},
		"no mirror, all there":   {nil, nil, true, []string{"disk2", "disk1"}, nil},
		"the mirror was emptied": {[]int{1, 2}, func(f *far) { f.registry.lose("") }, false, []string{"disk3"}, []string{"sequence 3 builds on 2, which this site imported, but the mirror lost it since or keeps it under other names", "carry gantry-000002 and those before it", "with --full"}},
		"the mirror lost some":   {[]int{1, 2}, func(f *far) { f.registry.lose(repository(1)) }, false, []string{"disk3"}, nil},
		"emptied, all there":     {[]int{1, 2}, func(f *far) { f.registry.lose("") }, false, []string{"disk3", "disk2", "disk1"}, nil},
		"another receipt": {[]int{1}, func(f *far) {
			f.saveReceipt(&receipt.Receipt{Name: "ops", Sets: []receipt.Set{{Sequence: 1, Set: f.month(1).Manifests[0].Digest}}})
			f.registry.lose("")
		}, false, []string{"disk2"}, []string{"sequence 2 builds on 1, which this site never imported"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.months(3)
			f := w.far()
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
			_, err := f.fit(w.month(have.Newest().Sequence), site, tc.folders...)
			if tc.words == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refused[*MismatchError](t, err, tc.words...)
		})
	}
}

func (f *far) saveReceipt(r *receipt.Receipt) {
	f.t.Helper()
	if _, err := f.ws.SaveReceipt("mirror", "ops", r.Write); err != nil {
		f.t.Fatal(err)
	}
}

// TestEmptiedMirrorWithCheckBlobs goes on, since the receipt of such a run is what the
// next archive needs.
func TestEmptiedMirrorWithCheckBlobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(2)
	f := w.far()
	f.mustBring(w.month(1), "disk1")
	f.registry.lose("")
	site := f.registry.site()
	site.CheckBlobs = true
	if _, err := f.fit(w.month(2), site, "disk2"); err != nil {
		t.Error(err)
	}
}

// TestOlder warns of what would take a mirror back.
func TestOlder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(2)
	if _, err := w.write(w.workspace("elsewhere"), w.month(3), w.to("other", Since{})); err != nil {
		t.Fatal(err)
	}
	f := w.far()
	f.mustBring(w.month(1), "disk1")
	f.mustBring(w.month(1), "disk1")
	if f.warned != nil {
		t.Errorf("the same once more warns %q", f.warned)
	}
	f.mustBring(w.month(2), "disk2")
	for folder, tc := range map[string]struct {
		month int
		want  string
	}{
		"disk1": {1, "sequence 1 is older than sequence 2, which was imported before: tags and catalogs go back to what they were then"},
		"other": {3, "sequence 1 is older than sequence 2"},
	} {
		if _, err := f.fit(w.month(tc.month), f.registry.site(), folder); err != nil || len(f.warned) != 1 || !strings.HasPrefix(f.warned[0], tc.want) {
			t.Errorf("%s warns %q, %v", folder, f.warned, err)
		}
	}
	// The place of the newest was taken by another.
	last := w.open("disk2").Newest()
	f.saveReceipt(&receipt.Receipt{Name: "ops", Sets: []receipt.Set{{Sequence: 1, Set: last.Set}}})
	if _, err := f.fit(w.month(1), f.registry.site(), "disk1"); err != nil || len(f.warned) != 1 || !strings.HasPrefix(f.warned[0], "this is not the archive with the number 1 that was imported before, but another one (sha256:") {
		t.Errorf("it warns %q, %v", f.warned, err)
	}
}

// TestMoreFolders asks for folders until nothing is missing.
func TestMoreFolders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(3)
	f := w.far()
	more := func(folders ...string) (asked []string, c *Chain, err error) {
		from := []string{"disk3"}
		have := f.open("disk3")
		c, err = Fit(t.Context(), f.ws, have, w.month(3), f.registry.site(), FitOptions{From: from, More: func(problem error, sequence int) (*archive.Archive, []string, error) {
			asked = append(asked, problem.Error())
			if sequence != 3 {
				t.Errorf("it asks for sequence %d", sequence)
			}
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
		if c.Archive.Lacks(desc) != nil {
			t.Errorf("%s cannot be read", desc.Digest)
		}
	}
	asked, _, err = more()
	refused[*MismatchError](t, err, "carry gantry-000002 too")
	if len(asked) != 1 {
		t.Errorf("it asks %q", asked)
	}
	// A folder in which another archive has the number that is read.
	if _, err := w.write(w.workspace("elsewhere"), w.named("ops", 1), w.to("other", Since{})); err != nil {
		t.Fatal(err)
	}
	_, err = Fit(t.Context(), f.ws, f.open("disk3"), w.month(3), f.registry.site(), FitOptions{More: func(error, int) (*archive.Archive, []string, error) {
		return f.open("other"), []string{"disk3", "other"}, nil
	}})
	refused[*MismatchError](t, err, "sequence 3 in disk3, other was sha256:", "it changed while it was read")
	broken := errors.New("no terminal")
	if _, err = Fit(t.Context(), f.ws, f.open("disk3"), w.month(3), f.registry.site(), FitOptions{More: func(error, int) (*archive.Archive, []string, error) {
		return nil, nil, broken
	}}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestUnreadableReceipt names the file that is in the way.
func TestUnreadableReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(1)
	f := w.far()
	file := f.mustBring(w.month(1), "disk1")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := f.fit(w.month(1), f.registry.site(), "disk1")
	refused[*advisedError](t, err, `what mirror has of "ops"`, "remove that file below receipts")
}

// TestPlanLeftOut reads the plan of an archive that leaves it out.
func TestPlanLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(2)
	w.must(w.month(2), "same", Since{})
	f := w.far()
	have := f.open("same")
	_, lacks := ReadPlan(t.Context(), have)
	if !errors.Is(lacks, os.ErrNotExist) {
		t.Fatalf("it has the plan: %v", lacks)
	}
	imported := func(ws *workspace.Workspace) error {
		p, err := ImportedPlan(ws, "mirror", have, lacks)
		if err == nil && len(p.Images) != 2 {
			t.Errorf("the plan has %d images", len(p.Images))
		}
		return err
	}
	words := []string{"sequence 3 in " + w.path("same") + " leaves its plan out, since sequence 2 has the same", "carry gantry-000002 too", "--full"}
	refused[*MismatchError](t, imported(nil), words...)
	refused[*MismatchError](t, imported(f.ws), words...)
	f.mustBring(w.month(1), "disk1")
	refused[*MismatchError](t, imported(f.ws), words...)
	f.mustBring(w.month(2), "disk2")
	if err := imported(f.ws); err != nil {
		t.Error(err)
	}
	f.mustBring(w.month(2), "same")
	if err := os.WriteFile(w.path("far/imported/mirror/ops.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := imported(f.ws); err == nil || !strings.Contains(err.Error(), "reading the plan that was imported before") {
		t.Error(err)
	}
}

// TestReadBack reads what an archive leaves out from the mirror that has it.
func TestReadBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(2)
	f := w.far()
	f.mustBring(w.month(1), "disk1")
	site := f.registry.site()
	p := w.month(2)
	c, err := f.fit(p, site, "disk2")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{repository(1)}; !cmp.Equal(site.Others, want) {
		t.Errorf("what is left out stands in %v", site.Others)
	}
	from := ReadBack(c.Archive, site, p)
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
	// Of what only the first image has, nothing says where it stands.
	own := describe(p, p.Images[0].Digest)
	if site.Elsewhere(own) != "" {
		t.Error("a manifest is looked for elsewhere")
	}
	p.Blobs = onlyOf(p, p.Images[1].Digest)
	if err := read(); err != nil {
		t.Error(err)
	}
	f.registry.lose("")
	if err := read(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gantry-000001.json") {
		t.Errorf("of a mirror that lost it: %v", err)
	}
}

// onlyOf are the blobs of one image.
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
