package gpg

import (
	"bytes"
	"compress/flate"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestVerify(t *testing.T) {
	first, second := signers()[0], signers()[1]
	good := first.sign(t, text(image), signed, 0)
	fail.On(t, verifyOne(good, image, []Keyring{first.keyring}, now))
	small := compressed(t, good)
	fail.On(t, verifyOne(small, image, []Keyring{first.keyring}, now))
	brief := newSigner("brief", 366*24*time.Hour) // expires the day after it signed
	retired := newSigner("retired", 24*time.Hour) // long before
	revoked := newSigner("revoked", 0)
	before := revoked.sign(t, text(image), signed, 0)
	revoked = revoked.revoke(t, signed.Add(time.Hour))
	if _, err := clusterAccepts(before, public(revoked.entity), image, now); err == nil {
		t.Fatal("clusters take what a revoked key signed before")
	}

	// The parts of a message, from which others are built.
	onePass, literal, signature := split(t, good)
	v3 := first.version3(t, text(image))
	_, err := clusterAccepts(v3, public(first.entity), image, now)
	fail.On(t, err)

	for _, tc := range []struct {
		name     string
		body     []byte
		keyrings []Keyring
		at       time.Time
		want     string // in the error; "" is none
	}{
		{name: "a signature that has not expired", body: first.sign(t, text(image), signed, 48*time.Hour)},
		{name: "a key that expired later", body: brief.sign(t, text(image), signed, 0), keyrings: []Keyring{brief.keyring}, at: signed.AddDate(5, 0, 0)},
		{name: "a keyring of several keys", body: good, keyrings: []Keyring{join(second, first)}},

		{name: "expired", body: first.sign(t, text(image), signed, time.Hour), want: "expired on 2026-03-01T13:00:00Z"},
		{name: "from the future", body: good, at: signed.Add(-time.Second), want: "in the future"},
		{name: "a key that had expired", body: anyway(t, retired), keyrings: []Keyring{retired.keyring}, want: "key expired"},
		{name: "a key that was revoked since", body: before, keyrings: []Keyring{revoked.keyring}, want: "was revoked"},
		{name: "another key", body: good, keyrings: []Keyring{second.keyring}, want: "which is not in keyring second"},
		{name: "two keyrings, one signature", body: good, keyrings: []Keyring{first.keyring, second.keyring}, want: "satisfies the keyring second"},
		{name: "no keyring", body: good, keyrings: []Keyring{}, want: "no keyring is configured"},
		{name: "another image", body: first.sign(t, text(digest.FromString("x")), signed, 0), want: "another image, " + digest.FromString("x").String()},
		{name: "another type", body: first.sign(t, strings.Replace(text(image), "atomic", "cosign", 1), signed, 0), want: `type "cosign container signature"`},
		{name: "no name", body: first.sign(t, strings.Replace(text(image), "quay.io/org/release:4.99.0-x86_64", "", 1), signed, 0), want: "does not name"},
		{name: "an unknown member", body: first.sign(t, strings.Replace(text(image), `"type"`, `"extra":1,"type"`, 1), signed, 0), want: "extra"},
		{name: "a member in other case", body: first.sign(t, strings.Replace(text(image), `"type"`, `"Type"`, 1), signed, 0), want: "Type"},
		{name: "a member twice", body: first.sign(t, strings.Replace(text(image), `"type"`, `"type":"","type"`, 1), signed, 0), want: "duplicate"},
		{name: "more than JSON", body: first.sign(t, text(image)+"{}", signed, 0), want: "reading the signed text"},
		{name: "not JSON", body: first.sign(t, "4.99.0", signed, 0), want: "reading the signed text"},

		{name: "a text without signature", body: literal, want: "not signed"},
		{name: "detached", body: signature, want: "detached"},
		{name: "armored", body: armored(t, "PGP MESSAGE", good), want: "armored"},
		{name: "clear-signed", body: clearSigned(t, first), want: "armored"},
		{name: "version 3", body: v3, want: "version 3, used for releases until 2019"},
		{name: "two signatures around each other", body: slices.Concat(onePass, good, signature), want: "its own file"},
		{name: "another text", body: slices.Concat(onePass, first.literal(t, text(digest.FromString("x"))), signature), want: "key " + first.id()},
		{name: "a text after the text", body: slices.Concat(onePass, literal, literal, signature), want: "not followed by its signature"},
		{name: "a second signature behind", body: slices.Concat(good, signature), want: "unexpected data"},
		{name: "garbage behind", body: append(slices.Clone(good), 0), want: "unexpected data"},
		{name: "garbage behind, inside", body: compressed(t, append(slices.Clone(good), 0)), want: "unexpected data"},
		{name: "garbage behind, outside", body: append(slices.Clone(small), 0xd3), want: "unexpected data"},
		{name: "compressed twice", body: compressed(t, small), want: "not a signed OpenPGP message"},
		{name: "keys", body: public(first.entity), want: "not a signed OpenPGP message"},
		{name: "a page of HTML", body: []byte("<html>Sign in</html>"), want: "not an OpenPGP message"},
		{name: "nothing", body: nil, want: "truncated"},
		{name: "more than 50 KiB", body: first.sign(t, text(image)+strings.Repeat(" ", MaxSize), signed, 0), want: "more than 51200 bytes"},
		{name: "a bomb", body: compressed(t, first.sign(t, text(image)+strings.Repeat(" ", 10<<20), signed, 0)), want: "when decompressed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.keyrings == nil {
				tc.keyrings = []Keyring{first.keyring}
			}
			if tc.at.IsZero() {
				tc.at = now
			}
			err := verifyOne(tc.body, image, tc.keyrings, tc.at)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
	for _, d := range []digest.Digest{"", "sha256:0", digest.SHA512.FromString("x")} {
		if err := verifyOne(good, d, []Keyring{first.keyring}, now); err == nil || !strings.Contains(err.Error(), "is not a sha256 digest") {
			t.Errorf("%q: %v", d, err)
		}
	}
}

func TestVerifyAll(t *testing.T) {
	first, second := signers()[0], signers()[1]
	one, two := first.sign(t, text(image), signed, 0), second.sign(t, text(image), signed, 0)
	both := []Keyring{first.keyring, second.keyring}
	fail.On(t, VerifyAll([][]byte{one, []byte("broken"), two}, image, both, now))
	err := VerifyAll([][]byte{one, []byte("broken"), one}, image, both, now)
	if err == nil || !strings.Contains(err.Error(), "satisfies the keyring second:\nsignature 2: not an OpenPGP message") {
		t.Error(err)
	}
	if err := VerifyAll(nil, image, both, now); err == nil || !strings.Contains(err.Error(), "first nor second") {
		t.Error(err)
	}
}

// TestTampered changes every byte in turn. A message that is still accepted has the same signed
// text: only the text is signed, not the packets around it.
func TestTampered(t *testing.T) {
	first := signers()[0]
	for _, body := range [][]byte{first.sign(t, text(image), signed, 0), compressed(t, first.sign(t, text(image), signed, 0))} {
		accepted := 0
		for i := range body {
			broken := slices.Clone(body)
			broken[i] ^= 0x11
			m, err := readMessage(broken)
			if err != nil {
				continue
			}
			content, _, err := m.verify(first.keyring, now)
			if err != nil {
				continue
			}
			accepted++
			if string(content) != text(image) {
				t.Fatalf("byte %d: accepted %s", i, content)
			}
		}
		if accepted*20 > len(body) {
			t.Errorf("%d of %d changes are accepted", accepted, len(body))
		}
		for n := range body {
			if err := verifyOne(body[:n], image, []Keyring{first.keyring}, now); err == nil {
				t.Fatalf("accepted although only %d of %d bytes are left", n, len(body))
			}
		}
	}
}

// FuzzVerify: nothing panics, and an accepted message is what the key signed and what a cluster
// accepts.
func FuzzVerify(f *testing.F) {
	first := signers()[0]
	good := first.sign(f, text(image), signed, 0)
	f.Add(good)
	f.Add(compressed(f, good))
	f.Add(first.sign(f, text(image), signed, 48*time.Hour))
	f.Add(first.sign(f, text(digest.FromString("x")), signed, 0))
	onePass, literal, signature := split(f, good)
	f.Add(slices.Concat(literal, onePass, signature))
	f.Add(slices.Concat(onePass, literal, signature, signature))
	var bomb bytes.Buffer
	bomb.Write([]byte{0xa3, 1})
	w, err := flate.NewWriter(&bomb, flate.BestCompression)
	fail.On(f, err)
	_, err = w.Write(make([]byte, 1<<20))
	fail.On(f, err)
	fail.On(f, w.Close())
	f.Add(bomb.Bytes())
	keys := public(first.entity)
	f.Fuzz(func(t *testing.T, body []byte) {
		if verifyOne(body, image, []Keyring{first.keyring}, now) != nil {
			return
		}
		content, err := clusterAccepts(body, keys, image, now)
		if err != nil {
			t.Fatalf("a cluster refuses %x: %v", body, err)
		}
		if string(content) != text(image) {
			t.Fatalf("%q was not signed", content)
		}
	})
}

// split returns the three packets of a message.
func split(t testing.TB, message []byte) (onePass, literal, signature []byte) {
	t.Helper()
	r := bytes.NewReader(message)
	at := []int{0}
	for range 3 {
		p, err := packet.Read(r)
		fail.On(t, err)
		if l, ok := p.(*packet.LiteralData); ok {
			_, err := bytes.NewBuffer(nil).ReadFrom(l.Body)
			fail.On(t, err)
		}
		at = append(at, len(message)-r.Len())
	}
	return message[:at[1]], message[at[1]:at[2]], message[at[2]:at[3]]
}

// literal returns the literal packet of a text.
func (s signer) literal(t testing.TB, content string) []byte {
	t.Helper()
	_, literal, _ := split(t, s.sign(t, content, signed, 0))
	return literal
}

// id returns the key ID as errors print it.
func (s signer) id() string { return s.entity.PrimaryKey.KeyIdString() }

// join returns a keyring of several keys.
func join(all ...signer) Keyring {
	k := Keyring{Name: "joined"}
	for _, s := range all {
		k.entities = append(k.entities, s.keyring.entities...)
	}
	return k
}

// anyway signs with a key that had already expired, which the library refuses at the current time.
func anyway(t *testing.T, s signer) []byte {
	t.Helper()
	for _, id := range s.entity.Identities {
		forever := *id.SelfSignature
		forever.KeyLifetimeSecs = nil
		defer func(was *packet.Signature) { id.SelfSignature = was }(id.SelfSignature)
		id.SelfSignature = &forever
	}
	return s.sign(t, text(image), signed, 0)
}

func clearSigned(t *testing.T, s signer) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := clearsign.Encode(&b, s.entity.PrivateKey, nil)
	if err == nil {
		_, err = w.Write([]byte(text(image)))
	}
	if err == nil {
		err = w.Close()
	}
	fail.On(t, err)
	return b.Bytes()
}
