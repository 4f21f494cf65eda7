package carry

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/archive"
	"github.com/gantry-mirror/gantry/mirror"
)

// dated gives the archives of the history these days of October 2026.
func (w *world) dated(days ...int) {
	w.t.Helper()
	all, err := w.ws.Carried("ops")
	if err != nil || len(all) != len(days) {
		w.t.Fatalf("%d archives in the history: %v", len(all), err)
	}
	for i, c := range all {
		c.Date = time.Date(2026, 10, days[i], 0, 0, 0, 0, time.UTC)
		if err := w.ws.SaveCarried("ops", c, nil); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestSince says in the third month what its archive builds on.
func TestSince(t *testing.T) {
	t.Parallel()
	october := func(day int) time.Time { return time.Date(2026, 10, day, 0, 0, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		since    Since
		buildsOn int
		where    Where
		// images are those of three of which content is brought.
		images int
		remark string
	}{
		"the newest":         {Since{}, 2, Where{First: 1, Last: 2}, 1, ""},
		"all":                {Since{Full: true}, 0, Where{}, 3, ""},
		"a sequence":         {Since{Sequence: 1, Text: "1"}, 1, Where{First: 1, Last: 1}, 2, ""},
		"the last sequence":  {Since{Sequence: 2, Text: "2"}, 2, Where{First: 1, Last: 2}, 1, ""},
		"a day":              {Since{Date: october(15), Text: "2026-10-15"}, 1, Where{First: 1, Last: 1}, 2, ""},
		"a day to come":      {Since{Date: october(31), Text: "2026-10-31"}, 2, Where{First: 1, Last: 2}, 1, ""},
		"the very moment":    {Since{Date: october(20), Text: "2026-10-20"}, 1, Where{First: 1, Last: 1}, 2, ""},
		"a day before all":   {Since{Date: october(1), Text: "2026-10-01"}, 0, Where{}, 3, `no archive of "ops" was written before 2026-10-01, so that all content is written`},
		"the year one, even": {Since{Text: "0001-01-01"}, 0, Where{}, 3, `no archive of "ops" was written before 0001-01-01, so that all content is written`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.months(2)
			w.dated(10, 20)
			p := w.month(3)
			n := w.must(p, "disk", tc.since)
			got := n.Written()
			if got.Sequence != 3 || got.BuildsOn != tc.buildsOn || got.Where != tc.where || n.Remark() != tc.remark || got.Empty || got.Already {
				t.Errorf("%+v, %q", got, n.Remark())
			}
			have := w.open("disk")
			brought := 0
			for _, img := range p.Images {
				if have.Has(describe(p, img.Digest)) {
					brought++
				}
			}
			if brought != tc.images || (got.LeftOut != nil) != (tc.buildsOn > 0) {
				t.Errorf("%d of 3 images are brought, left out is %+v", brought, got.LeftOut)
			}
		})
	}
}

// TestWhere says among which archives the content is that is left out.
func TestWhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(2)
	w.must(w.month(3), "full", Since{Full: true})
	for i, tc := range []struct {
		since Since
		want  Where
	}{
		{Since{Sequence: 2, Text: "2"}, Where{First: 1, Last: 2}},
		{Since{Sequence: 3, Text: "3"}, Where{First: 3, Last: 3}},
		{Since{}, Where{First: 3, Last: 5}},
	} {
		if got := w.must(w.month(3), fmt.Sprint("disk", i+3), tc.since).Written().Where; got != tc.want {
			t.Errorf("%+v: %+v, want %+v", tc.since, got, tc.want)
		}
	}
}

func TestSinceRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.write(w.ws, w.month(1), w.to("disk", Since{Sequence: 1, Text: "1"}))
	refused[*RequestError](t, err, `--since 1: this workspace wrote no archive of "ops"`, "--receipt")
	w.months(2)
	w.dated(10, 20)
	_, err = w.write(w.ws, w.month(3), w.to("disk", Since{Sequence: 9, Text: "9"}))
	day := func(n int) string { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC).Local().Format(time.DateOnly) }
	refused[*RequestError](t, err, "--since 9", "give one of 1 ("+day(10)+") or 2 ("+day(20)+")")
	if err := os.Remove(w.path("workspace/archives/ops/000002.json")); err != nil {
		t.Fatal(err)
	}
	_, err = w.write(w.ws, w.month(3), w.to("disk", Since{}))
	refused[*advisedError](t, err, `what sequence 2 of "ops" holds is not known`, "--full", "--receipt")
	if got := w.sets("disk"); got != nil {
		t.Errorf("refused, and the folder has %v", got)
	}
}

// TestNothingNew writes the same plan once more.
func TestNothingNew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.month(2)
	w.months(2)
	look := func(folder string, since Since) *mirror.Missing {
		t.Helper()
		n, err := Prepare(t.Context(), w.ws, p, w.to(folder, since))
		if err != nil {
			t.Fatal(err)
		}
		missing, err := n.Look(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return missing
	}
	nothing := &mirror.Missing{Present: 2, AlreadyThere: p.Totals.Bytes}
	all := &mirror.Missing{Images: 2, Bytes: p.Totals.Bytes}
	for folder, tc := range map[string]struct {
		since Since
		want  *mirror.Missing
	}{"disk2": {Since{}, nothing}, "new": {Since{}, nothing}, "full": {Since{Full: true}, all}} {
		if diff := cmp.Diff(tc.want, look(folder, tc.since)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
	// Where the newest is, nothing is written.
	before, err := os.ReadDir(w.path("disk2"))
	if err != nil {
		t.Fatal(err)
	}
	got := w.must(p, "disk2", Since{}).Written()
	after, err := os.ReadDir(w.path("disk2"))
	if err != nil || len(after) != len(before) || !got.Already || got.Sequence != 2 || got.BuildsOn != 1 {
		t.Errorf("%+v; %d files, had %d, %v", got, len(after), len(before), err)
	}
	// Elsewhere an archive without content is, which has not even the plan.
	got = w.must(p, "new", Since{}).Written()
	if !got.Empty || got.Sequence != 3 || got.BuildsOn != 2 {
		t.Errorf("%+v", got)
	}
	if have := w.open("new"); have.Size() > 16<<10 {
		t.Errorf("with nothing new it has %d bytes", have.Size())
	}
	// Who says what to build on gets that: here it is the one that was written so.
	if got = w.must(p, "disk2", Since{Sequence: 1, Text: "1"}).Written(); got.Already || got.Sequence != 2 || got.BuildsOn != 1 || got.LeftOut == nil {
		t.Errorf("%+v", got)
	}
	// A whole one takes the place of others in its folder.
	if got = w.must(p, "disk2", Since{Full: true}).Written(); got.Sequence != 4 || got.BuildsOn != 0 || got.Already {
		t.Errorf("%+v", got)
	}
	if got := w.sets("disk2"); !slices.Equal(got, []int{4}) {
		t.Errorf("the folder has %v", got)
	}
}

// forget takes what the workspace knows of the archives of "ops".
func (w *world) forget() {
	w.t.Helper()
	if err := os.RemoveAll(w.path("workspace/archives")); err != nil {
		w.t.Fatal(err)
	}
}

// TestFolder goes on in a folder that has more than the history knows.
func TestFolder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change   func(w *world)
		sequence int
		buildsOn int
		remark   string
	}{
		"the history has it": {func(*world) {}, 3, 2, ""},
		"no history":         {(*world).forget, 3, 2, ""},
		"an older history": {func(w *world) {
			all, err := w.ws.Carried("ops")
			if err != nil {
				w.t.Fatal(err)
			}
			w.forget()
			if err := w.ws.SaveCarried("ops", all[0], func(io.Writer) error { return nil }); err != nil {
				w.t.Fatal(err)
			}
		}, 3, 2, ""},
		"the newest is damaged": {func(w *world) {
			if err := os.Truncate(w.path("disk/gantry-000002.0001.tar"), 1000); err != nil {
				w.t.Fatal(err)
			}
		}, 3, 0, "is damaged, so that all content is written again"},
		"without a history, its plan is damaged": {func(w *world) {
			w.forget()
			w.spoil("disk", func(e archive.EntryInfo) bool { return e.Set.Sequence == 2 && itsPlan(e) })
		}, 3, 0, "cannot be read, so that all content is written again"},
		"the folder was emptied": {func(w *world) {
			if err := os.RemoveAll(w.path("disk")); err != nil {
				w.t.Fatal(err)
			}
		}, 3, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.must(w.month(1), "disk", Since{})
			w.must(w.month(2), "disk", Since{})
			tc.change(w)
			n := w.must(w.month(3), "disk", Since{})
			if got := n.Written(); got.Sequence != tc.sequence || got.BuildsOn != tc.buildsOn || !strings.Contains(n.Remark(), tc.remark) || tc.remark == "" && n.Remark() != "" {
				t.Errorf("%+v, %q", got, n.Remark())
			}
			all, err := w.ws.Carried("ops")
			if last := all[len(all)-1]; err != nil || last.Sequence != tc.sequence || last.Set != n.Written().Set || last.Full != (tc.buildsOn == 0) {
				t.Errorf("the history ends with %+v, %v", last, err)
			}
		})
	}
}

// TestReplacedSet refuses to go on beside an archive that has the number of one of the
// workspace's own.
func TestReplacedSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.month(1), "disk", Since{})
	if _, err := w.write(w.workspace("elsewhere"), w.month(2), w.to("other", Since{})); err != nil {
		t.Fatal(err)
	}
	_, err := w.write(w.ws, w.month(3), w.to("other", Since{}))
	refused[*RequestError](t, err, "gantry-000001.json in "+w.path("other"), `is not the archive that this workspace wrote of "ops" under that number`, "another folder")
}

// TestKilledWhileFinishing knows an archive again that was complete when its run was
// killed, and passes over one that was not.
func TestKilledWhileFinishing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		folder   string
		plan     string // that was noted, where it is another
		buildsOn int
		sequence int
	}{
		"it is complete":        {"disk2", "", 2, 3},
		"it is not":             {"none", "", 1, 3},
		"it is not, right here": {"disk", "", 1, 2}, // the same number is taken again
		"it is of another plan": {"disk2", "other", 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.months(2)
			all, err := w.ws.Carried("ops")
			if err != nil {
				t.Fatal(err)
			}
			killed := all[1]
			killed.Set, killed.Dir = "", w.path(tc.folder)
			if tc.plan != "" {
				killed.Plan = digest.FromString(tc.plan)
			}
			if err := w.ws.SaveCarried("ops", killed, nil); err != nil {
				t.Fatal(err)
			}
			if got := w.must(w.month(3), "disk", Since{}).Written(); got.BuildsOn != tc.buildsOn || got.Sequence != tc.sequence {
				t.Errorf("%+v", got)
			}
			if all, err = w.ws.Carried("ops"); err != nil || (all[1].Set != "") != (tc.buildsOn == 2 || tc.sequence == 2) || all[1].Found != (tc.buildsOn == 2) {
				t.Errorf("the history has %+v, %v", all[1], err)
			}
		})
	}
}

// TestUnfinished enters nothing in the history of which images are missing.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(1)
	p := w.month(2)
	n, err := Prepare(t.Context(), w.ws, p, w.to("disk", Since{}))
	if err != nil {
		t.Fatal(err)
	}
	report, err := n.Mirror(t.Context(), p, memory{w, gone(p.Images[1].Digest)}, mirror.Options{})
	if err != nil || !report.Unfinished || len(report.Failed) != 1 || n.Written() != nil {
		t.Errorf("%+v, %v, %+v", report, err, n.Written())
	}
	if all, err := w.ws.Carried("ops"); err != nil || len(all) != 1 {
		t.Errorf("the history has %+v, %v", all, err)
	}
}

// TestEncryptedBefore tells that an archive is less secret than the one before.
func TestEncryptedBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(1)
	prepared := func() *Next {
		t.Helper()
		n, err := Prepare(t.Context(), w.ws, w.month(2), w.to("disk", Since{}))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if prepared().Unencrypted() {
		t.Error("the one before is not encrypted")
	}
	all, err := w.ws.Carried("ops")
	if err != nil {
		t.Fatal(err)
	}
	all[0].Encrypted = true
	if err := w.ws.SaveCarried("ops", all[0], nil); err != nil {
		t.Fatal(err)
	}
	if !prepared().Unencrypted() {
		t.Error("the one before is encrypted")
	}
}

// TestStranger follows an encrypted archive that this workspace did not write: whose
// place it would take, nobody knows.
func TestStranger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secret := w.to("disk", Since{})
	secret.Archive.Encrypt = w.encryption()
	if _, err := w.write(w.workspace("elsewhere"), w.named("other", 1), secret); err != nil {
		t.Fatal(err)
	}
	p := w.month(2)
	n := w.must(p, "disk", Since{})
	if got := n.Written(); got.Sequence != 2 || got.BuildsOn != 0 {
		t.Errorf("%+v", got)
	}
	if got := w.sets("disk"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("the folder has %v", got)
	}
	// One of its own is known by the history.
	own := w.to("own", Since{})
	own.Archive.Encrypt = w.encryption()
	if _, err := w.write(w.ws, p, own); err != nil {
		t.Fatal(err)
	}
	if all, err := w.ws.Carried("ops"); err != nil || !all[1].Encrypted {
		t.Errorf("the history has %+v, %v", all, err)
	}
	got, err := w.write(w.ws, w.month(3), own)
	if err != nil || got.Written().BuildsOn != 3 || !slices.Equal(w.sets("own"), []int{3, 4}) {
		t.Errorf("%+v, %v, the folder has %v", got.Written(), err, w.sets("own"))
	}
}
