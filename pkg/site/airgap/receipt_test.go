package airgap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// TestReceipt writes an archive from the receipt of a site that did not get the second disk.
func TestReceipt(t *testing.T) {
	t.Parallel()
	ours, theirs := "signed.json", "copy.json"
	for name, tc := range map[string]struct {
		name    string // the name of the plan
		change  func(f *importSite)
		file    string
		trusted bool // whether the policy trusts the key of the site
		want    BaseRange
		words   []string
	}{
		"ours, no policy":     {"ops", nil, ours, false, BaseRange{Last: 1, Receipts: 1}, nil},
		"ours, signed":        {"ops", nil, ours, true, BaseRange{Last: 1, Receipts: 1}, nil},
		"unsigned":            {"ops", nil, theirs, true, BaseRange{}, []string{"copy.json is refused", "not signed"}},
		"unsigned, no policy": {"ops", nil, theirs, false, BaseRange{Last: 1, Receipts: 1}, nil},
		"altered":             {"ops", func(f *importSite) { f.replace(ours, `"size":`, `"size":1`) }, ours, true, BaseRange{}, []string{"signed.json is refused"}},
		"of another":          {"other", nil, ours, false, BaseRange{}, []string{`signed.json is of "ops", and the archive would be of "other"`, "Options.Name"}},
		"absent":              {"ops", nil, "absent.json", false, BaseRange{}, []string{"reading the receipt: ", "no such file"}},
		"no receipt":          {"ops", func(f *importSite) { f.replace(theirs, `"GantryReceipt"`, `"Other"`) }, theirs, false, BaseRange{}, []string{"copy.json: reading the receipt"}},
		"a wrong digest":      {"ops", func(f *importSite) { f.replace(theirs, `"set":"sha256:`, `"set":"sha256:0`) }, theirs, false, BaseRange{}, []string{"reading the receipt"}},
		"of a foreign sequence": {"ops", func(f *importSite) {
			f.rewrite(theirs, func(r *state.Receipt) { r.Sets[0].Set = digest.FromString("other") })
		}, theirs, false, BaseRange{}, []string{"the site imported a sequence 1 that this workspace did not write", "Options.Full"}},
		"of nothing whole":    {"ops", func(f *importSite) { f.rewrite(theirs, func(r *state.Receipt) { r.Sets = nil }) }, theirs, false, BaseRange{}, []string{"the site imported no complete archive", "Options.Full"}},
		"of a later sequence": {"ops", func(f *importSite) { f.rewrite(theirs, func(r *state.Receipt) { r.Sets[0].Sequence = 7 }) }, theirs, false, BaseRange{Last: 7, Receipts: 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.months(2)
			key, public := w.key("site")
			f := w.importSite()
			for file, sign := range map[string]func(context.Context, io.Reader) ([]byte, error){ours: signing(key), theirs: nil} {
				if got, err := f.bring(w.month(1), ReceiptOptions{File: w.path(file), Sign: sign}, "disk1"); err != nil || got != w.path(file) {
					t.Fatalf("%s, %v", got, err)
				}
			}
			if tc.change != nil {
				tc.change(f)
			}
			since := Since{Receipts: []string{w.path(tc.file)}}
			if tc.trusted {
				since.Policy = w.trusting(public)
			}
			n, err := w.write(w.ws, w.named(tc.name, 3), w.to("disk", since))
			if tc.words != nil {
				kind := advice.Input
				if strings.Contains(tc.words[0], "is refused") {
					kind = advice.Mismatch
				}
				refused(t, err, kind, tc.words...)
				if got := w.sets("disk"); got != nil {
					t.Errorf("refused, and the folder has %v", got)
				}
				return
			}
			fail.On(t, err)
			if got := n.Result(); got.Bases != tc.want || got.BuildsOn != tc.want.Last || got.Sequence != max(2, tc.want.Last)+1 || got.Omitted == nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// replace replaces text in a file of the fixture.
func (f *importSite) replace(file, old, now string) {
	f.t.Helper()
	text, err := os.ReadFile(f.path(file))
	if err == nil && !bytes.Contains(text, []byte(old)) {
		err = errors.New(string(text))
	}
	if err == nil {
		err = os.WriteFile(f.path(file), bytes.Replace(text, []byte(old), []byte(now), 1), 0o600)
	}
	fail.On(f.t, err)
}

// rewrite changes a receipt.
func (f *importSite) rewrite(file string, change func(*state.Receipt)) {
	f.t.Helper()
	r := readBackReceipt(f.t, f.path(file))
	change(r)
	var text bytes.Buffer
	err := r.Write(&text)
	if err == nil {
		err = os.WriteFile(f.path(file), text.Bytes(), 0o600)
	}
	fail.On(f.t, err)
}

// TestReceiptHeals checks that an archive written from a receipt contains the content of a lost
// disk.
func TestReceiptHeals(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(2)
	f := w.importSite()
	file := f.mustBring(w.month(1), "disk1")
	w.must(w.month(3), "disk3", Since{Receipts: []string{file}})
	f.mustBring(w.month(3), "disk3")
	r := readBackReceipt(t, file)
	if len(r.Sets) != 2 || r.Sets[1].Sequence != 3 || len(r.Repositories) != 3 {
		t.Errorf("the receipt has %+v", r)
	}
	for desc := range mirror.Content(w.month(3)) {
		if !f.registry.holds(desc.Digest) {
			t.Errorf("%s is not in the mirror", desc.Digest)
		}
	}
}

// TestReceiptOfNothing checks that a site that lost everything gets all content, in an archive with
// a new number.
func TestReceiptOfNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	f := w.importSite()
	_, err := f.bring(w.month(1), ReceiptOptions{File: w.path("site.json")}, "disk1")
	fail.On(t, err)
	f.rewrite("site.json", func(r *state.Receipt) { r.Sets[0].Sequence, r.Repositories = 7, nil })
	got := w.must(w.month(2), "disk2", Since{Receipts: []string{w.path("site.json")}}).Result()
	if got.Sequence != 8 || got.BuildsOn != 0 || got.Omitted != nil || got.Bases != (BaseRange{}) {
		t.Errorf("%+v", got)
	}
}

// TestSignatureOfReceipt checks that a signature file is always the signature of the receipt beside
// it.
func TestSignatureOfReceipt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	key, public := w.key("site")
	f := w.importSite()
	file, err := f.bring(w.month(1), ReceiptOptions{Sign: signing(key)}, "disk1")
	fail.On(t, err)
	_, err = readReceipt(file, w.trusting(public))
	fail.On(t, err)
	// If a copy is signed, the receipt in the workspace has no signature. An unsigned receipt has
	// no signature file.
	copied := ReceiptOptions{File: w.path("copy.json"), Sign: signing(key)}
	_, err = f.bring(w.month(1), copied, "disk1")
	fail.On(t, err)
	_, err = readReceipt(copied.File, w.trusting(public))
	fail.On(t, err)
	signed := func() (there []string) {
		for _, name := range []string{file, copied.File} {
			if _, err := os.Stat(name + ".sig"); err == nil {
				there = append(there, name)
			}
		}
		return there
	}
	if got := signed(); !slices.Equal(got, []string{copied.File}) {
		t.Errorf("signed are %v", got)
	}
	copied.Sign = nil
	if _, err := f.bring(w.month(1), copied, "disk1"); err != nil || signed() != nil {
		t.Errorf("the signature of the previous receipt is beside the new one: %v, %v", signed(), err)
	}
	broken := errors.New("no agent")
	_, err = f.bring(w.month(1), ReceiptOptions{Sign: func(context.Context, io.Reader) ([]byte, error) { return nil, broken }}, "disk1")
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "signing the receipt "+file) {
		t.Error(err)
	}
}

// TestNoteOfLess checks that a receipt does not list an archive that was imported incompletely.
func TestNoteOfLess(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		report mirror.Report
		sets   int
	}{
		"all came":             {mirror.Report{}, 1},
		"an image failed":      {mirror.Report{Failed: []mirror.Failure{{Source: source(1), Repository: repository(1)}}}, 0},
		"a package left out":   {mirror.Report{Excluded: []mirror.Excluded{{Package: "lantern"}}}, 0},
		"the plan misses some": {mirror.Report{Failed: []mirror.Failure{{Source: "src.example.com/gone:v1"}}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.months(1)
			f := w.importSite()
			c, err := f.fit(w.month(1), f.registry.site(), "disk1")
			fail.On(t, err)
			file, err := c.WriteReceipt(t.Context(), w.month(1), &tc.report, ReceiptOptions{})
			fail.On(t, err)
			r := readBackReceipt(t, file)
			if len(r.Sets) != tc.sets || (r.Plan != "") != (tc.sets == 1) {
				t.Errorf("the receipt has %+v, plan %q", r.Sets, r.Plan)
			}
		})
	}
	// A destination that is not a mirror gets no receipt.
	w := newFixture(t)
	w.months(1)
	f := w.importSite()
	c, err := f.fit(w.month(1), nil, "disk1")
	fail.On(t, err)
	if file, err := c.WriteReceipt(t.Context(), w.month(1), &mirror.Report{}, ReceiptOptions{File: w.path("r.json")}); file != "" || err != nil {
		t.Errorf("%q, %v", file, err)
	}
}
