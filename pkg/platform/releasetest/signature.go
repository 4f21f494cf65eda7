package releasetest

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
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

// The types of statements.
const (
	simpleType = "atomic container signature"
	cosignType = "cosign container image signature"
)

// statement binds a name to an image (containers/image, simple signing).
func statement(kind, ref string, d digest.Digest, optional string) []byte {
	return fmt.Appendf(nil, `{"critical":{"image":{"docker-manifest-digest":%q},"type":%q,"identity":{"docker-reference":%q}},"optional":%s}`, d, kind, ref, optional)
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
	text := statement(simpleType, ref, d, `{"creator":"Gantry test signer"}`)
	message, err := written(text, func(b io.Writer) (io.WriteCloser, error) {
		return openpgp.Sign(b, k.entity, &openpgp.FileHints{IsBinary: true, ModTime: published}, c)
	})
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", ref, err)
	}
	message[len(message)-1] ^= flip
	return written(message, func(b io.Writer) (io.WriteCloser, error) {
		return packet.SerializeCompressed(unclosed{b}, packet.CompressionZIP, nil)
	})
}

// written returns what a writer makes of data.
func written(data []byte, open func(b io.Writer) (io.WriteCloser, error)) ([]byte, error) {
	var b bytes.Buffer
	w, err := open(&b)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// Cosign returns the image for SignatureTag(d), with one layer for each name of the image with the
// digest d.
func (k *Keys) Cosign(d digest.Digest, names ...string) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, name := range names {
		text := statement(cosignType, name, d, "null")
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
	for _, d := range subjects {
		if p.Flaws.Unsigned {
			break
		}
		message, err := w.Keys.Sign(p.Repository+":"+p.Name, d)
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
	for _, name := range p.Flaws.NoSigstore {
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
