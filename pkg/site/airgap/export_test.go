package airgap

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// TestAnotherName checks that a folder with the archive of another configuration is refused.
func TestAnotherName(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	admit := func(name, folder string) error {
		t.Helper()
		p := w.named(name, 1)
		n, err := PrepareExport(t.Context(), w.ws, p, w.to(folder, Since{}))
		fail.On(t, err)
		return n.CheckSeries(t.Context(), p)
	}
	w.must(w.month(1), "same", Since{}) // its plan is in the first
	for _, folder := range []string{"disk1", "none", "same"} {
		fail.On(t, admit("ops", folder))
	}
	check := func() {
		t.Helper()
		for _, folder := range []string{"disk1", "same"} {
			refused(t, admit("other", folder), advice.Input, "has the archive of another configuration, \"ops\"", "Options.Name to ops", "another folder")
		}
	}
	check()
	// A damaged archive also belongs to its configuration, as long as its plan can be read.
	for _, disk := range []string{"disk1/gantry-000001", "same/gantry-000002"} {
		info, err := os.Stat(w.path(disk + ".0001.tar"))
		if err == nil {
			err = os.Truncate(w.path(disk+".0001.tar"), info.Size()-512)
		}
		fail.On(t, err)
	}
	check()
	w.spoil("disk1", itsPlan)
	fail.On(t, admit("other", "disk1"))
}

// TestLook checks the preview of an archive that leaves nothing out.
func TestLook(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		write   func(w *fixture) // writes the archives in the folder
		encrypt bool             // whether the new archive is encrypted
		there   bool             // whether the folder has all content
	}{
		"nothing":  {func(*fixture) {}, false, false},
		"the same": {func(w *fixture) { w.must(w.month(2), "disk", Since{}) }, false, true},
		"another":  {func(w *fixture) { w.must(w.month(1), "disk", Since{}) }, false, false},
		"in other volumes": {func(w *fixture) {
			opts := w.to("disk", Since{})
			opts.Archive.VolumeSize *= 2
			if _, err := w.write(w.ws, w.month(2), opts); err != nil {
				w.t.Fatal(err)
			}
		}, false, false},
		"damaged": {func(w *fixture) {
			w.must(w.month(2), "disk", Since{})
			fail.On(w.t, os.Truncate(w.path("disk/gantry-000001.0001.tar"), 512))
		}, false, false},
		"not encrypted": {func(w *fixture) { w.must(w.month(2), "disk", Since{}) }, true, false},
		"encrypted": {func(w *fixture) {
			opts := w.to("disk", Since{})
			opts.Archive.Encrypt = w.encryption()
			if _, err := w.write(w.ws, w.month(2), opts); err != nil {
				w.t.Fatal(err)
			}
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			tc.write(w)
			// With Full, only the folder is searched.
			opts := w.to("disk", Since{Full: true})
			if tc.encrypt {
				opts.Archive.Encrypt = w.encryption()
			}
			p := w.month(2)
			n, err := PrepareExport(t.Context(), w.ws, p, opts)
			fail.On(t, err)
			want := &mirror.ToCopy{Images: 2, Bytes: p.Totals.Bytes}
			if tc.there {
				want = &mirror.ToCopy{Present: 2, BytesPresent: p.Totals.Bytes}
			}
			got, err := n.Preview(t.Context(), p)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestSignedLater checks that an existing archive can be signed, and that nothing else is written.
func TestSignedLater(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(2)
	key, public := w.key("ops")
	opts := w.to("disk2", Since{})
	opts.Archive.Sign = signing(key)
	n, err := w.write(w.ws, w.month(2), opts)
	if err != nil || !n.Result().AlreadyPresent {
		t.Fatalf("%+v, %v", n, err)
	}
	if who, err := verdictOf(opts.Dir, w.open("disk2").Selected().SetRef, w.trusting(public)); err != nil || !who.Trusted {
		t.Errorf("%+v, %v", who, err)
	}
}

// TestServedResources checks that cluster resources are written for the images that are served.
func TestServedResources(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.months(1)
	images, err := FindServable(t.Context(), w.open("disk1"))
	fail.On(t, err)
	files, _, err := images.Resources("bastion.example.com:8443", "serve", nil)
	if err != nil || len(files) == 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, o := range resources.ObjectNames(files) {
		if strings.HasSuffix(o.Kind, "MirrorSet") && !strings.Contains(o.Name, "-serve-") {
			t.Errorf("%s would replace the one of a mirror", o)
		}
	}
	for _, address := range []string{"bastion.example.com/ocp", "not an address"} {
		if _, _, err := images.Resources(address, "", nil); err == nil {
			t.Errorf("%s is accepted", address)
		}
	}
}
