package carry

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

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/receipt"
)

// TestReceipt writes an archive against the receipt of a site that the second disk did
// not reach.
func TestReceipt(t *testing.T) {
	t.Parallel()
	ours, theirs := "signed.json", "copy.json"
	for name, tc := range map[string]struct {
		name    string // of the plan
		change  func(f *far)
		file    string
		trusted bool // the policy takes what the site signed
		want    Where
		words   []string
	}{
		"ours, no policy":     {"ops", nil, ours, false, Where{Last: 1, Receipt: true}, nil},
		"ours, signed":        {"ops", nil, ours, true, Where{Last: 1, Receipt: true}, nil},
		"unsigned":            {"ops", nil, theirs, true, Where{}, []string{"copy.json is refused", "not signed"}},
		"unsigned, no policy": {"ops", nil, theirs, false, Where{Last: 1, Receipt: true}, nil},
		"altered":             {"ops", func(f *far) { f.replace(ours, `"size":`, `"size":1`) }, ours, true, Where{}, []string{"signed.json is refused"}},
		"of another":          {"other", nil, ours, false, Where{}, []string{`signed.json is of "ops", and the archive would be of "other"`, "--name"}},
		"absent":              {"ops", nil, "absent.json", false, Where{}, []string{"--receipt: ", "no such file"}},
		"no receipt":          {"ops", func(f *far) { f.replace(theirs, `"GantryReceipt"`, `"Other"`) }, theirs, false, Where{}, []string{"copy.json: reading the receipt"}},
		"a wrong digest":      {"ops", func(f *far) { f.replace(theirs, `"set":"sha256:`, `"set":"sha256:0`) }, theirs, false, Where{}, []string{"reading the receipt"}},
		"of a foreign sequence": {"ops", func(f *far) {
			f.rewrite(theirs, func(r *receipt.Receipt) { r.Sets[0].Set = digest.FromString("other") })
		}, theirs, false, Where{}, []string{"the site imported a sequence 1 that this workspace did not write", "--full"}},
		"of nothing whole":    {"ops", func(f *far) { f.rewrite(theirs, func(r *receipt.Receipt) { r.Sets = nil }) }, theirs, false, Where{}, []string{"the site imported no archive whole", "--full"}},
		"of a later sequence": {"ops", func(f *far) { f.rewrite(theirs, func(r *receipt.Receipt) { r.Sets[0].Sequence = 7 }) }, theirs, false, Where{Last: 7, Receipt: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.months(2)
			key, public := w.key("site")
			f := w.far()
			for file, sign := range map[string]func(context.Context, io.Reader) ([]byte, error){ours: signing(key), theirs: nil} {
				if got, err := f.bring(w.month(1), NoteOptions{File: w.path(file), Sign: sign}, "disk1"); err != nil || got != w.path(file) {
					t.Fatalf("%s, %v", got, err)
				}
			}
			if tc.change != nil {
				tc.change(f)
			}
			since := Since{Receipt: w.path(tc.file)}
			if tc.trusted {
				since.Policy = w.trusting(public)
			}
			n, err := w.write(w.ws, w.named(tc.name, 3), w.to("disk", since))
			if tc.words != nil {
				var request *RequestError
				var mismatch *MismatchError
				if !errors.As(err, &request) && !errors.As(err, &mismatch) || errors.As(err, &mismatch) != strings.Contains(tc.words[0], "is refused") {
					t.Errorf("error %T", err)
				}
				refused[error](t, err, tc.words...)
				if got := w.sets("disk"); got != nil {
					t.Errorf("refused, and the folder has %v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := n.Written(); got.Where != tc.want || got.BuildsOn != tc.want.Last || got.Sequence != max(2, tc.want.Last)+1 || got.LeftOut == nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// replace alters a file of the world.
func (f *far) replace(file, old, now string) {
	f.t.Helper()
	text, err := os.ReadFile(f.path(file))
	if err == nil && !bytes.Contains(text, []byte(old)) {
		err = errors.New(string(text))
	}
	if err == nil {
		err = os.WriteFile(f.path(file), bytes.Replace(text, []byte(old), []byte(now), 1), 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// rewrite alters a receipt.
func (f *far) rewrite(file string, change func(*receipt.Receipt)) {
	f.t.Helper()
	r := readBackReceipt(f.t, f.path(file))
	change(r)
	var text bytes.Buffer
	err := r.Write(&text)
	if err == nil {
		err = os.WriteFile(f.path(file), text.Bytes(), 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// TestReceiptHeals brings by the receipt what the lost disk had.
func TestReceiptHeals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(2)
	f := w.far()
	file := f.mustBring(w.month(1), "disk1")
	w.must(w.month(3), "disk3", Since{Receipt: file})
	f.mustBring(w.month(3), "disk3")
	r := readBackReceipt(t, file)
	if len(r.Sets) != 2 || r.Sets[1].Sequence != 3 || len(r.Repositories) != 3 {
		t.Errorf("the receipt has %+v", r)
	}
	for desc := range mirror.Content(w.month(3)) {
		found := false
		for i := 1; i <= 3; i++ {
			for _, of := range []map[string][]byte{f.registry.blobs, f.registry.manifests} {
				_, ok := of[in(repository(i), desc.Digest)]
				found = found || ok
			}
		}
		if !found {
			t.Errorf("%s is nowhere at the mirror", desc.Digest)
		}
	}
}

// TestReceiptOfNothing writes all for a site that lost all, under a number that it never
// saw.
func TestReceiptOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(1)
	f := w.far()
	if _, err := f.bring(w.month(1), NoteOptions{File: w.path("site.json")}, "disk1"); err != nil {
		t.Fatal(err)
	}
	f.rewrite("site.json", func(r *receipt.Receipt) { r.Sets[0].Sequence, r.Repositories = 7, nil })
	got := w.must(w.month(2), "disk2", Since{Receipt: w.path("site.json")}).Written()
	if got.Sequence != 8 || got.BuildsOn != 0 || got.LeftOut != nil || got.Where != (Where{}) {
		t.Errorf("%+v", got)
	}
}

// TestSignatureOfReceipt lies beside the receipt that it is of, and no other.
func TestSignatureOfReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(1)
	key, public := w.key("site")
	f := w.far()
	file, err := f.bring(w.month(1), NoteOptions{Sign: signing(key)}, "disk1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readReceipt(file, w.trusting(public)); err != nil {
		t.Error(err)
	}
	// A copy that is signed leaves the one in the workspace without a signature, and a
	// receipt that is not has none beside it.
	copied := NoteOptions{File: w.path("copy.json"), Sign: signing(key)}
	if _, err := f.bring(w.month(1), copied, "disk1"); err != nil {
		t.Fatal(err)
	}
	if _, err := readReceipt(copied.File, w.trusting(public)); err != nil {
		t.Error(err)
	}
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
		t.Errorf("the signature of the receipt before lies beside the new one: %v, %v", signed(), err)
	}
	broken := errors.New("no agent")
	_, err = f.bring(w.month(1), NoteOptions{Sign: func(context.Context, io.Reader) ([]byte, error) { return nil, broken }}, "disk1")
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "signing the receipt "+file) {
		t.Error(err)
	}
}

// TestNoteOfLess enters no archive of which something did not come.
func TestNoteOfLess(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		report mirror.Report
		sets   int
	}{
		"all came":             {mirror.Report{}, 1},
		"an image failed":      {mirror.Report{Failed: []mirror.Failure{{Source: source(1), Repository: repository(1)}}}, 0},
		"a package left out":   {mirror.Report{LeftOut: []mirror.LeftOut{{Package: "lantern"}}}, 0},
		"the plan misses some": {mirror.Report{Failed: []mirror.Failure{{Source: "src.example.com/gone:v1"}}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.months(1)
			f := w.far()
			c, err := f.fit(w.month(1), f.registry.site(), "disk1")
			if err != nil {
				t.Fatal(err)
			}
			file, err := c.Note(t.Context(), w.month(1), &tc.report, NoteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := readBackReceipt(t, file)
			if len(r.Sets) != tc.sets || (r.Plan != "") != (tc.sets == 1) {
				t.Errorf("the receipt has %+v, plan %q", r.Sets, r.Plan)
			}
		})
	}
	// A destination that is no mirror has none.
	w := newWorld(t)
	w.months(1)
	f := w.far()
	c, err := f.fit(w.month(1), nil, "disk1")
	if err != nil {
		t.Fatal(err)
	}
	if file, err := c.Note(t.Context(), w.month(1), &mirror.Report{}, NoteOptions{File: w.path("r.json")}); file != "" || err != nil {
		t.Errorf("%q, %v", file, err)
	}
}
