package carry

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/mirror"
)

// TestAnotherName refuses a folder with the archive of another configuration.
func TestAnotherName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(1)
	admit := func(name, folder string) error {
		t.Helper()
		p := w.named(name, 1)
		n, err := Prepare(t.Context(), w.ws, p, w.to(folder, Since{}))
		if err != nil {
			t.Fatal(err)
		}
		return n.Admit(t.Context(), p)
	}
	w.must(w.month(1), "same", Since{}) // its plan is in the first
	for _, folder := range []string{"disk1", "none", "same"} {
		if err := admit("ops", folder); err != nil {
			t.Error(err)
		}
	}
	check := func() {
		t.Helper()
		for _, folder := range []string{"disk1", "same"} {
			refused[*RequestError](t, admit("other", folder), "holds the archive of another configuration, \"ops\"", "--name ops", "another folder")
		}
	}
	check()
	// A damaged one is somebody's, too, as long as its plan can be read.
	for _, disk := range []string{"disk1/gantry-000001", "same/gantry-000002"} {
		info, err := os.Stat(w.path(disk + ".0001.tar"))
		if err == nil {
			err = os.Truncate(w.path(disk+".0001.tar"), info.Size()-512)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	check()
	w.spoil("disk1", itsPlan)
	if err := admit("other", "disk1"); err != nil {
		t.Error(err)
	}
}

// TestLook says what an archive would get where nothing is left out.
func TestLook(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		write   func(w *world) // what lies in the folder
		encrypt bool           // the new one is
		there   bool           // it has all
	}{
		"nothing":  {func(*world) {}, false, false},
		"the same": {func(w *world) { w.must(w.month(2), "disk", Since{}) }, false, true},
		"another":  {func(w *world) { w.must(w.month(1), "disk", Since{}) }, false, false},
		"in other volumes": {func(w *world) {
			opts := w.to("disk", Since{})
			opts.Archive.VolumeSize *= 2
			if _, err := w.write(w.ws, w.month(2), opts); err != nil {
				w.t.Fatal(err)
			}
		}, false, false},
		"damaged": {func(w *world) {
			w.must(w.month(2), "disk", Since{})
			if err := os.Truncate(w.path("disk/gantry-000001.0001.tar"), 512); err != nil {
				w.t.Fatal(err)
			}
		}, false, false},
		"not encrypted": {func(w *world) { w.must(w.month(2), "disk", Since{}) }, true, false},
		"encrypted": {func(w *world) {
			opts := w.to("disk", Since{})
			opts.Archive.Encrypt = w.encryption()
			if _, err := w.write(w.ws, w.month(2), opts); err != nil {
				w.t.Fatal(err)
			}
		}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tc.write(w)
			// Full looks at the folder alone.
			opts := w.to("disk", Since{Full: true})
			if tc.encrypt {
				opts.Archive.Encrypt = w.encryption()
			}
			p := w.month(2)
			n, err := Prepare(t.Context(), w.ws, p, opts)
			if err != nil {
				t.Fatal(err)
			}
			want := &mirror.Missing{Images: 2, Bytes: p.Totals.Bytes}
			if tc.there {
				want = &mirror.Missing{Present: 2, AlreadyThere: p.Totals.Bytes}
			}
			got, err := n.Look(t.Context(), p)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestSignedLater signs an archive that is there already, and writes nothing else.
func TestSignedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(2)
	key, public := w.key("ops")
	opts := w.to("disk2", Since{})
	opts.Archive.Sign = signing(key)
	n, err := w.write(w.ws, w.month(2), opts)
	if err != nil || !n.Written().Already {
		t.Fatalf("%+v, %v", n, err)
	}
	if who, err := signedAs(opts.Dir, w.open("disk2").Newest().BaseSet, w.trusting(public)); err != nil || !who.Trusted {
		t.Errorf("%+v, %v", who, err)
	}
}

// TestServedResources makes a cluster pull what is whole.
func TestServedResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.months(1)
	images, err := WholeImages(t.Context(), w.open("disk1"))
	if err != nil {
		t.Fatal(err)
	}
	files, _, err := images.Resources("bastion.example.com:8443")
	if err != nil || len(files) == 0 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, address := range []string{"bastion.example.com/ocp", "not an address"} {
		if _, _, err := images.Resources(address); err == nil {
			t.Errorf("%s is taken", address)
		}
	}
}
