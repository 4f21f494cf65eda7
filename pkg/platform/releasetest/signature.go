package releasetest

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// The types of statements, and the creator in OpenPGP statements.
const (
	simpleType = "atomic container signature"
	cosignType = "cosign container image signature"
	creator    = "Gantry test signer"
)

// A statement binds a name to an image (containers/image, simple signing).
type statement struct {
	Critical struct {
		Image struct {
			Digest digest.Digest `json:"docker-manifest-digest"`
		} `json:"image"`
		Type     string `json:"type"`
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
	} `json:"critical"`
	Optional map[string]string `json:"optional"`
}

func state(kind, ref string, d digest.Digest, optional map[string]string) ([]byte, error) {
	s := statement{Optional: optional}
	s.Critical.Type, s.Critical.Identity.Reference, s.Critical.Image.Digest = kind, ref, d
	return json.Marshal(s)
}

// Sign returns a signature of a release for a signature store: an OpenPGP message that is a
// compressed packet with a one-pass signature, the statement and the signature.
func (k *Keys) Sign(ref string, d digest.Digest) ([]byte, error) {
	return k.sign(ref, d, 0, signing())
}

// SignInvalid is Sign with the last bit of the signature flipped.
func (k *Keys) SignInvalid(ref string, d digest.Digest) ([]byte, error) {
	return k.sign(ref, d, 1, signing())
}

// SignExpired is Sign with a signature that expired one day after it was made.
func (k *Keys) SignExpired(ref string, d digest.Digest) ([]byte, error) {
	c := signing()
	c.SigLifetimeSecs = 24 * 60 * 60
	return k.sign(ref, d, 0, c)
}

// sign signs like Sign and flips the given bits of the message's last byte.
func (k *Keys) sign(ref string, d digest.Digest, flip byte, c *packet.Config) ([]byte, error) {
	text, err := state(simpleType, ref, d, map[string]string{"creator": creator})
	if err != nil {
		return nil, err
	}
	message, err := k.message(text, c)
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", ref, err)
	}
	message[len(message)-1] ^= flip
	return compress(message)
}

// message returns the packets inside the compressed packet.
func (k *Keys) message(text []byte, c *packet.Config) ([]byte, error) {
	var b bytes.Buffer
	w, err := openpgp.Sign(&b, k.entity, &openpgp.FileHints{IsBinary: true, ModTime: published}, c)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func compress(message []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := packet.SerializeCompressed(unclosed{&b}, packet.CompressionZIP, nil)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(message); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// Cosign returns the image for SignatureTag(d), with one layer for each name of the image with the
// digest d.
func (k *Keys) Cosign(d digest.Digest, names ...string) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, name := range names {
		text, err := state(cosignType, name, d, nil)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		signed, err := rsa.SignPKCS1v15(nil, k.policy, crypto.SHA256, sum[:])
		if err != nil {
			return nil, fmt.Errorf("signing %s: %w", name, err)
		}
		img, err = mutate.Append(img, mutate.Addendum{
			Layer:       static.NewLayer(text, "application/vnd.dev.cosign.simplesigning.v1+json"),
			Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signed)},
		})
		if err != nil {
			return nil, err
		}
	}
	return img, nil
}

// SignatureTag returns the tag of cosign's signatures of a digest.
func SignatureTag(d digest.Digest) string { return "sha256-" + d.Encoded() + ".sig" }

// sign makes the signatures of a payload: OpenPGP signatures of the manifest list and of each
// release image, all with the name of the payload; and sigstore signatures of each image but not of
// manifest lists, like the vendor.
func (w *Platform) sign(p *Payload) error {
	subjects := []digest.Digest{p.Digest}
	for _, arch := range p.arches() {
		if d, ok := p.Shards[arch]; ok {
			subjects = append(subjects, d)
		}
	}
	sign := w.Keys.Sign
	if p.Flaws.InvalidSignature {
		sign = w.Keys.SignInvalid
	}
	for _, d := range subjects {
		if p.Flaws.Unsigned {
			break
		}
		message, err := sign(p.Repository+":"+p.Name, d)
		if err != nil {
			return err
		}
		w.signatures[d] = message
	}
	if !p.Sigstore {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.made)) {
		repository, names := p.content, []string{p.Content + "@"}
		if name == "" {
			repository, names = p.releases, []string{p.Repository + "@", p.Repository + ":" + p.Name}
		}
		if err := w.cosign(repository, names, p.made[name]); err != nil {
			return fmt.Errorf("signing %s: %w", name, err)
		}
	}
	return nil
}

// addNoSigstore records the images that get no sigstore signatures.
func (w *Platform) addNoSigstore(p *Payload) error {
	if !p.Sigstore && len(p.Flaws.NoSigstore) > 0 {
		return errors.New("it has Flaws.NoSigstore without Sigstore")
	}
	for _, name := range p.Flaws.NoSigstore {
		if p.made[name] == nil {
			return fmt.Errorf("component %s without sigstore signatures does not exist", name)
		}
		digests, err := imagesOf(p.made[name])
		if err != nil {
			return err
		}
		for _, d := range digests {
			w.noSigstore[d] = true
		}
	}
	return nil
}

// cosign adds sigstore signatures of content, or of its children, to a repository. A name that ends
// in "@" is completed by the digest.
func (w *Platform) cosign(repository string, names []string, content registrytest.Content) error {
	digests, err := imagesOf(content)
	if err != nil {
		return err
	}
	for _, d := range digests {
		if w.cosigned[d] || w.noSigstore[d] {
			continue
		}
		w.cosigned[d] = true
		named := slices.Clone(names)
		for i, name := range named {
			if strings.HasSuffix(name, "@") {
				named[i] += d.String()
			}
		}
		signed, err := w.Keys.Cosign(d, named...)
		if err != nil {
			return err
		}
		if _, err := w.put(repository, SignatureTag(d), signed); err != nil {
			return err
		}
	}
	return nil
}
