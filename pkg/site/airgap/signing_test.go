package airgap

import (
	"errors"
	"os"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// TestVouch signs in folders with archives that the workspace did not write.
func TestVouch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		by     string // the key that signed the existing archives; "" if unsigned, "forged" if the signature is invalid
		months int    // the number of existing archives
		month  int    // the month to write
		trust  string // the key that the site trusts; "" for none
		since  Since
		words  []string // words of the error; nil if the run continues
	}{
		"it would be signed":          {"", 2, 2, "", Since{}, []string{"sequence 2 in ", "this workspace did not write it, and it is not signed", "Options.Full", "Options.VerifyKey"}},
		"it would be built on":        {"", 1, 2, "", Since{}, []string{"sequence 1 in ", "it is not signed"}},
		"signed without known keys":   {"mallory", 1, 2, "", Since{}, []string{"it is signed with the ssh-ed25519 key SHA256:", "no keys are known"}},
		"signed with another key":     {"mallory", 1, 2, "ops", Since{}, []string{"it is not a trusted key"}},
		"signed by whom it takes":     {"mallory", 1, 2, "mallory", Since{}, nil},
		"signed with the same key":    {"ops", 1, 2, "", Since{}, nil},
		"no signature at all":         {"forged", 1, 2, "mallory", Since{}, []string{"not an SSH signature"}},
		"all is written":              {"", 2, 2, "", Since{Full: true}, nil},
		"all is written, a month new": {"", 1, 2, "", Since{Full: true}, nil},
		"all is written, the same":    {"", 1, 1, "", Since{Full: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			key, ops := w.key("ops")
			other, mallory := w.key("mallory")
			publics := map[string][]byte{"ops": ops, "mallory": mallory}
			elsewhere := w.workspace("elsewhere")
			for i := 1; i <= tc.months; i++ {
				opts := w.to("disk", Since{})
				switch tc.by {
				case "ops":
					opts.Archive.Sign = signing(key)
				case "mallory":
					opts.Archive.Sign = signing(other)
				}
				_, err := w.write(elsewhere, w.month(i), opts)
				fail.On(t, err)
			}
			if tc.by == "forged" {
				fail.On(t, os.WriteFile(w.path("disk/gantry-000001.json.sig"), []byte("hello"), 0o600))
			}
			opts := w.to("disk", tc.since)
			opts.Archive.Sign = signing(key)
			opts.Signing = &SigningPolicy{Key: key.Signer().Key, Policy: func() (*sshsig.Policy, error) {
				if tc.trust == "" {
					return &sshsig.Policy{}, nil
				}
				return w.trusting(publics[tc.trust]), nil
			}}
			before := w.sets("disk")
			n, err := w.write(w.ws, w.month(tc.month), opts)
			if tc.words != nil {
				refused(t, err, advice.Mismatch, tc.words...)
				if after := w.sets("disk"); len(after) != len(before) {
					t.Errorf("refused, and the folder has %v", after)
				}
				return
			}
			fail.On(t, err)
			if got := n.Result(); (got.BuildsOn > 0) == tc.since.Full || got.Sequence != tc.months+1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestVouchByHistory checks that a run that signs builds on unsigned archives that the workspace
// wrote, but not on archives that an unsigned run only found.
func TestVouchByHistory(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	key, _ := w.key("ops")
	to := func(folder string, since Since) ExportOptions {
		opts := w.to(folder, since)
		opts.Archive.Sign = signing(key)
		opts.Signing = &SigningPolicy{Key: key.Signer().Key, Policy: func() (*sshsig.Policy, error) { return &sshsig.Policy{}, nil }}
		return opts
	}
	w.months(1)
	for _, folder := range []string{"disk1", "disk2"} {
		_, err := w.write(w.ws, w.month(2), to(folder, Since{}))
		fail.On(t, err)
	}
	found := newFixture(t)
	_, err := found.write(found.workspace("elsewhere"), found.month(1), found.to("disk", Since{}))
	fail.On(t, err)
	found.must(found.month(1), "disk", Since{}) // the archive has all content already
	w = found
	key, _ = w.key("ops")
	for name, since := range map[string]Since{"the newest": {}, "named": {Sequence: 1, Text: "1"}} {
		_, err := w.write(w.ws, w.month(2), to("other", since))
		refused(t, err, advice.Mismatch, "sequence 1 in "+w.path("disk"), "this workspace did not write it")
		if got := w.sets("other"); got != nil {
			t.Errorf("%s: refused, and the folder has %v", name, got)
		}
	}
	// The same is true for an archive of another workspace that was complete when a full one was
	// requested.
	_, err = w.write(w.workspace("whole-elsewhere"), w.named("whole", 1), w.to("whole", Since{}))
	fail.On(t, err)
	w.must(w.named("whole", 1), "whole", Since{Full: true})
	_, err = w.write(w.ws, w.named("whole", 2), to("other", Since{}))
	refused(t, err, advice.Mismatch, "sequence 1 in "+w.path("whole"), "this workspace did not write it")
	// An archive that this workspace wrote remains its own, even after later runs found it
	// complete.
	for range 2 {
		w.must(w.named("own", 1), "own", Since{Full: true})
	}
	_, err = w.write(w.ws, w.named("own", 2), to("own", Since{}))
	fail.On(t, err)
	// An error of the policy ends the run.
	broken := errors.New("no such file")
	foreign, err := w.write(w.workspace("theirs"), w.month(1), to("theirs", Since{}))
	if err != nil || foreign.Result().Sequence != 1 {
		t.Fatal(err)
	}
	other, _ := w.key("other")
	opts := to("theirs", Since{})
	opts.Signing = &SigningPolicy{Key: other.Signer().Key, Policy: func() (*sshsig.Policy, error) { return nil, broken }}
	if _, err := w.write(w.workspace("new"), w.month(2), opts); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestVouchForAnother checks that a run that signs does not build on a set that was replaced by
// another one, even if that one is signed with the same key.
func TestVouchForAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	key, _ := w.key("ops")
	_, err := w.write(w.workspace("elsewhere"), w.month(1), w.to("disk", Since{}))
	fail.On(t, err)
	w.must(w.month(1), "disk", Since{}) // recorded in the history as found
	fail.On(t, os.RemoveAll(w.path("disk")))
	other := w.to("disk", Since{})
	other.Archive.Sign = signing(key)
	_, err = w.write(w.workspace("another"), w.month(2), other)
	fail.On(t, err)
	opts := w.to("new", Since{})
	opts.Archive.Sign = signing(key)
	opts.Signing = &SigningPolicy{Key: key.Signer().Key, Policy: func() (*sshsig.Policy, error) { return &sshsig.Policy{}, nil }}
	_, err = w.write(w.ws, w.month(3), opts)
	refused(t, err, advice.Mismatch, "sequence 1 in "+w.path("disk"), "what lies there under its number is sha256:")
}
