package airgap

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
)

// dated sets the dates of the archives in the history to these days of October 2026.
func (w *fixture) dated(days ...int) {
	w.t.Helper()
	all, err := w.ws.Exports("ops")
	if err != nil || len(all) != len(days) {
		w.t.Fatalf("%d archives in the history: %v", len(all), err)
	}
	for i, c := range all {
		c.Date = time.Date(2026, 10, days[i], 0, 0, 0, 0, time.UTC)
		fail.On(w.t, w.ws.SaveExport("ops", c, nil))
	}
}

// TestSince checks what the archive of the third month builds on.
func TestSince(t *testing.T) {
	t.Parallel()
	october := func(day int) time.Time { return time.Date(2026, 10, day, 0, 0, 0, 0, time.UTC) }
	for name, tc := range map[string]struct {
		since    Since
		buildsOn int
		where    BaseRange
		// images is the number of images, out of three, whose content is included.
		images int
		remark string
	}{
		"the newest":         {Since{}, 2, BaseRange{First: 1, Last: 2}, 1, ""},
		"all":                {Since{Full: true}, 0, BaseRange{}, 3, ""},
		"a sequence":         {Since{Sequence: 1, Text: "1"}, 1, BaseRange{First: 1, Last: 1}, 2, ""},
		"the last sequence":  {Since{Sequence: 2, Text: "2"}, 2, BaseRange{First: 1, Last: 2}, 1, ""},
		"a day":              {Since{Date: october(15), Text: "2026-10-15"}, 1, BaseRange{First: 1, Last: 1}, 2, ""},
		"a day to come":      {Since{Date: october(31), Text: "2026-10-31"}, 2, BaseRange{First: 1, Last: 2}, 1, ""},
		"the very moment":    {Since{Date: october(20), Text: "2026-10-20"}, 1, BaseRange{First: 1, Last: 1}, 2, ""},
		"a day before all":   {Since{Date: october(1), Text: "2026-10-01"}, 0, BaseRange{}, 3, `no archive of "ops" was written before 2026-10-01, so that all content is written`},
		"the year one, even": {Since{Text: "0001-01-01"}, 0, BaseRange{}, 3, `no archive of "ops" was written before 0001-01-01, so that all content is written`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.months(2)
			w.dated(10, 20)
			p := w.month(3)
			n := w.must(p, "disk", tc.since)
			got := n.Result()
			if got.Sequence != 3 || got.BuildsOn != tc.buildsOn || got.Bases != tc.where || n.Remark() != tc.remark || got.Empty || got.AlreadyPresent {
				t.Errorf("%+v, %q", got, n.Remark())
			}
			have := w.open("disk")
			brought := 0
			for _, img := range p.Images {
				if have.Has(describe(p, img.Digest)) {
					brought++
				}
			}
			if brought != tc.images || (got.Omitted != nil) != (tc.buildsOn > 0) {
				t.Errorf("%d of 3 images are brought, left out is %+v", brought, got.Omitted)
			}
		})
	}
}

// TestWhere checks which archives are reported to have the omitted content.
func TestWhere(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(2)
	w.must(w.month(3), "full", Since{Full: true})
	for i, tc := range []struct {
		since Since
		want  BaseRange
	}{
		{Since{Sequence: 2, Text: "2"}, BaseRange{First: 1, Last: 2}},
		{Since{Sequence: 3, Text: "3"}, BaseRange{First: 3, Last: 3}},
		{Since{}, BaseRange{First: 3, Last: 5}},
	} {
		fail.Diff(t, tc.want, w.must(w.month(3), fmt.Sprint("disk", i+3), tc.since).Result().Bases)
	}
}

func TestSinceRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	_, err := w.write(w.ws, w.month(1), w.to("disk", Since{Sequence: 1, Text: "1"}))
	refused(t, err, advice.Input, `this workspace wrote no archive of "ops", and so no sequence 1`, "Options.Receipts")
	w.months(2)
	w.dated(10, 20)
	_, err = w.write(w.ws, w.month(3), w.to("disk", Since{Sequence: 9, Text: "9"}))
	day := func(n int) string { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC).Local().Format(time.DateOnly) }
	refused(t, err, advice.Input, `this workspace wrote no sequence 9 of "ops"`, "set Options.Since to 1 ("+day(10)+") or 2 ("+day(20)+")")
	fail.On(t, os.Remove(w.path("workspace/archives/ops/000002.json")))
	_, err = w.write(w.ws, w.month(3), w.to("disk", Since{}))
	refused(t, err, advice.Failure, `reading what sequence 2 of "ops" contains`, "Options.Full", "Options.Receipts")
	if got := w.sets("disk"); got != nil {
		t.Errorf("refused, and the folder has %v", got)
	}
}

// TestNothingNew writes the same plan again.
func TestNothingNew(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	p := w.month(2)
	w.months(2)
	look := func(folder string, since Since) *mirror.ToCopy {
		t.Helper()
		n, err := PrepareExport(t.Context(), w.ws, p, w.to(folder, since))
		fail.On(t, err)
		missing, err := n.Preview(t.Context(), p)
		fail.On(t, err)
		return missing
	}
	nothing := &mirror.ToCopy{Present: 2, BytesPresent: p.Totals.Bytes}
	all := &mirror.ToCopy{Images: 2, Bytes: p.Totals.Bytes}
	for folder, tc := range map[string]struct {
		since Since
		want  *mirror.ToCopy
	}{"disk2": {Since{}, nothing}, "new": {Since{}, nothing}, "full": {Since{Full: true}, all}} {
		fail.Diff(t, tc.want, look(folder, tc.since), cmpopts.IgnoreFields(mirror.ToCopy{}, "Absent"))
	}
	// In the folder of the newest archive, nothing is written.
	before, err := os.ReadDir(w.path("disk2"))
	fail.On(t, err)
	got := w.must(p, "disk2", Since{}).Result()
	after, err := os.ReadDir(w.path("disk2"))
	if err != nil || len(after) != len(before) || !got.AlreadyPresent || got.Sequence != 2 || got.BuildsOn != 1 {
		t.Errorf("%+v; %d files, had %d, %v", got, len(after), len(before), err)
	}
	// In another folder, an archive without content is written, which does not even contain the
	// plan.
	got = w.must(p, "new", Since{}).Result()
	if !got.Empty || got.Sequence != 3 || got.BuildsOn != 2 {
		t.Errorf("%+v", got)
	}
	if have := w.open("new"); have.Size() > 16<<10 {
		t.Errorf("with nothing new it has %d bytes", have.Size())
	}
	// A selected base is used: here, the existing archive builds on it.
	if got = w.must(p, "disk2", Since{Sequence: 1, Text: "1"}).Result(); got.AlreadyPresent || got.Sequence != 2 || got.BuildsOn != 1 || got.Omitted == nil {
		t.Errorf("%+v", got)
	}
	// A full archive replaces the others in its folder.
	if got = w.must(p, "disk2", Since{Full: true}).Result(); got.Sequence != 4 || got.BuildsOn != 0 || got.AlreadyPresent {
		t.Errorf("%+v", got)
	}
	if got := w.sets("disk2"); !slices.Equal(got, []int{4}) {
		t.Errorf("the folder has %v", got)
	}
}

// forget removes the history of the archives of "ops" from the workspace.
func (w *fixture) forget() {
	w.t.Helper()
	fail.On(w.t, os.RemoveAll(w.path("workspace/archives")))
}

// TestFolder continues in a folder with archives that may be missing in the history.
func TestFolder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change   func(w *fixture)
		sequence int
		buildsOn int
		remark   string
	}{
		"the history has it": {func(*fixture) {}, 3, 2, ""},
		"no history":         {(*fixture).forget, 3, 2, ""},
		"an older history": {func(w *fixture) {
			all, err := w.ws.Exports("ops")
			fail.On(w.t, err)
			w.forget()
			fail.On(w.t, w.ws.SaveExport("ops", all[0], func(io.Writer) error { return nil }))
		}, 3, 2, ""},
		"the newest is damaged": {func(w *fixture) {
			fail.On(w.t, os.Truncate(w.path("disk/gantry-000002.0001.tar"), 1000))
		}, 3, 0, "is damaged, so that all content is written again"},
		"without a history, its plan is damaged": {func(w *fixture) {
			w.forget()
			w.spoil("disk", func(e archive.EntryInfo) bool { return e.Set.Sequence == 2 && itsPlan(e) })
		}, 3, 0, "cannot be read, so all content is written again"},
		"the volumes of the newest were carried away": {func(w *fixture) {
			fail.On(w.t, os.Remove(w.path("disk/gantry-000002.0001.tar")))
		}, 3, 2, "gantry-000002.0001.tar of sequence 2 in "},
		"all volumes were carried away": {func(w *fixture) {
			for _, name := range []string{"disk/gantry-000001.0001.tar", "disk/gantry-000002.0001.tar"} {
				fail.On(w.t, os.Remove(w.path(name)))
			}
		}, 3, 2, "is elsewhere, and this archive builds on sequence 2"},
		"carried away, and no history": {func(w *fixture) {
			w.forget()
			fail.On(w.t, os.Remove(w.path("disk/gantry-000002.0001.tar")))
		}, 3, 0, "cannot be read, so all content is written again"},
		"the set manifests were carried away, and no history": {func(w *fixture) {
			w.forget()
			for _, name := range []string{"disk/gantry-000001.json", "disk/gantry-000002.json"} {
				fail.On(w.t, os.Remove(w.path(name)))
			}
		}, 3, 2, ""},
		"the set manifest of the newest is damaged, and no history": {func(w *fixture) {
			w.forget()
			fail.On(w.t, os.Truncate(w.path("disk/gantry-000002.json"), 100))
		}, 3, 0, ""},
		"the folder was emptied": {func(w *fixture) {
			fail.On(w.t, os.RemoveAll(w.path("disk")))
		}, 3, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.must(w.month(1), "disk", Since{})
			w.must(w.month(2), "disk", Since{})
			tc.change(w)
			n := w.must(w.month(3), "disk", Since{})
			if got := n.Result(); got.Sequence != tc.sequence || got.BuildsOn != tc.buildsOn || !strings.Contains(n.Remark(), tc.remark) || tc.remark == "" && n.Remark() != "" {
				t.Errorf("%+v, %q", got, n.Remark())
			}
			all, err := w.ws.Exports("ops")
			if last := all[len(all)-1]; err != nil || last.Sequence != tc.sequence || last.Set != n.Result().Set || last.Full != (tc.buildsOn == 0) {
				t.Errorf("the history ends with %+v, %v", last, err)
			}
		})
	}
}

// TestReplacedSet checks that no archive is written to a folder where another archive has the
// number of one that this workspace wrote.
func TestReplacedSet(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.must(w.month(1), "disk", Since{})
	_, err := w.write(w.workspace("elsewhere"), w.month(2), w.to("other", Since{}))
	fail.On(t, err)
	_, err = w.write(w.ws, w.month(3), w.to("other", Since{}))
	refused(t, err, advice.Input, "gantry-000001.json in "+w.path("other"), `is not the archive that this workspace wrote of "ops" under that number`, "another folder")
}

// TestKilledWhileFinishing checks that an archive that was complete when its run was killed is
// used, and that an incomplete one is skipped.
func TestKilledWhileFinishing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		folder   string
		plan     string // the recorded plan, if it is another one
		buildsOn int
		sequence int
	}{
		"it is complete":        {"disk2", "", 2, 3},
		"it is not":             {"none", "", 1, 3},
		"it is not, right here": {"disk", "", 1, 2}, // the number is used again
		"it is of another plan": {"disk2", "other", 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.months(2)
			all, err := w.ws.Exports("ops")
			fail.On(t, err)
			killed := all[1]
			killed.Set, killed.Dir = "", w.path(tc.folder)
			if tc.plan != "" {
				killed.Plan = digest.FromString(tc.plan)
			}
			fail.On(t, w.ws.SaveExport("ops", killed, nil))
			if got := w.must(w.month(3), "disk", Since{}).Result(); got.BuildsOn != tc.buildsOn || got.Sequence != tc.sequence {
				t.Errorf("%+v", got)
			}
			if all, err = w.ws.Exports("ops"); err != nil || (all[1].Set != "") != (tc.buildsOn == 2 || tc.sequence == 2) || all[1].Found != (tc.buildsOn == 2) {
				t.Errorf("the history has %+v, %v", all[1], err)
			}
		})
	}
}

// TestUnfinished checks that an archive with missing images is not recorded in the history.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	p := w.month(2)
	n, err := PrepareExport(t.Context(), w.ws, p, w.to("disk", Since{}))
	fail.On(t, err)
	report, err := n.Run(t.Context(), p, memory{w, gone(p.Images[1].Digest)}, mirror.Options{})
	if err != nil || !report.Unfinished || len(report.Failed) != 1 || n.Result() != nil {
		t.Errorf("%+v, %v, %+v", report, err, n.Result())
	}
	if all, err := w.ws.Exports("ops"); err != nil || len(all) != 1 {
		t.Errorf("the history has %+v, %v", all, err)
	}
}

// TestEncryptedBefore checks that DropsEncryption reports an unencrypted archive after an encrypted
// one.
func TestEncryptedBefore(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	prepared := func() *Export {
		t.Helper()
		n, err := PrepareExport(t.Context(), w.ws, w.month(2), w.to("disk", Since{}))
		fail.On(t, err)
		return n
	}
	if prepared().DropsEncryption() {
		t.Error("the one before is not encrypted")
	}
	all, err := w.ws.Exports("ops")
	fail.On(t, err)
	all[0].Encrypted = true
	fail.On(t, w.ws.SaveExport("ops", all[0], nil))
	if !prepared().DropsEncryption() {
		t.Error("the one before is encrypted")
	}
}
