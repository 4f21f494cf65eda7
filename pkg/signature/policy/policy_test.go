package policy

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

func reading(files map[string][]byte) ReadFile {
	return func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
		}
		return text, nil
	}
}

// docker returns a policy that rejects everything but what a scope requires.
func docker(scope, requirements string) string {
	return `{"default":[{"type":"reject"}],"transports":{"docker":{"` + scope + `":[` + requirements + `]}}}`
}

func TestParseErrors(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(publicKey(ecOnce()))
	signed := func(members string) string {
		return docker("quay.io", `{"type":"sigstoreSigned","keyData":"`+key+`"`+members+`}`)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"empty":                {``, "policy.json:1: "},
		"not JSON":             {"{\n  \"default\": [}", "policy.json:2: "},
		"truncated":            {"{\n\n", "policy.json:3: "},
		"no default":           {`{}`, "default: no requirement is given"},
		"empty default":        {`{"default":[]}`, "default: no requirement is given"},
		"an empty scope":       {docker("quay.io", ""), `policy.json: transports, docker, "quay.io": no requirement is given`},
		"unknown member":       {"{\"default\":[{\"type\":\"reject\"}],\n\"transport\":{}}", `policy.json:2: `},
		"repeated member":      {`{"default":[{"type":"reject"}],"default":[{"type":"reject"}]}`, "duplicate"},
		"another case":         {`{"Default":[{"type":"reject"}]}`, `unknown`},
		"unknown type":         {docker("quay.io", "\n\n"+`{"type":"signed"}`), `policy.json:3: transports, docker, "quay.io": requirement 1: the type "signed" is unknown`},
		"no type":              {docker("quay.io", `{}`), "type is missing"},
		"base layer":           {docker("quay.io", `{"type":"signedBaseLayer","baseLayerIdentity":{}}`), "signedBaseLayer is not supported"},
		"more in reject":       {`{"default":[{"type":"reject","why":1}]}`, `why`},
		"more in sigstore":     {signed(`,"keyFile":"x"`), `keyFile`},
		"two keys":             {signed(`,"keyPath":"x"`), "only one of keyPath"},
		"no key":               {docker("quay.io", `{"type":"sigstoreSigned"}`), "exactly one of keyPath"},
		"no keys":              {docker("quay.io", `{"type":"sigstoreSigned","keyPaths":[]}`), "keyPaths or keyDatas is empty"},
		"an empty path":        {docker("quay.io", `{"type":"sigstoreSigned","keyPath":""}`), "is empty"},
		"no base64":            {docker("quay.io", `{"type":"sigstoreSigned","keyData":"?"}`), "base64"},
		"key and fulcio":       {signed(`,"fulcio":{"caPath":"a","oidcIssuer":"b","subjectEmail":"c"}`), "exactly one of"},
		"fulcio without rekor": {docker("quay.io", `{"type":"sigstoreSigned","fulcio":{"caPath":"a","oidcIssuer":"b","subjectEmail":"c"}}`), "fulcio needs rekorPublicKeyPath"},
		"fulcio without ca":    {docker("quay.io", `{"type":"sigstoreSigned","fulcio":{"oidcIssuer":"b","subjectEmail":"c"},"rekorPublicKeyPath":"r"}`), "caPath and caData"},
		"fulcio without email": {docker("quay.io", `{"type":"sigstoreSigned","fulcio":{"caPath":"a","oidcIssuer":"b"},"rekorPublicKeyPath":"r"}`), "subjectEmail are needed"},
		"more in fulcio":       {docker("quay.io", `{"type":"sigstoreSigned","fulcio":{"ca":"a"},"rekorPublicKeyPath":"r"}`), `ca`},
		"pki with rekor":       {docker("quay.io", `{"type":"sigstoreSigned","pki":{"caRootsPath":"a","subjectEmail":"c"},"rekorPublicKeyPath":"r"}`), "pki cannot be combined"},
		"pki without subject":  {docker("quay.io", `{"type":"sigstoreSigned","pki":{"caRootsPath":"a"}}`), "subjectHostname is needed"},
		"pki without roots":    {docker("quay.io", `{"type":"sigstoreSigned","pki":{"subjectEmail":"a"}}`), "caRootsPath"},
		"two logs":             {signed(`,"rekorPublicKeyPath":"a","rekorPublicKeyDatas":["eA=="]`), "only one of rekorPublicKeyPath"},
		"no identity type":     {signed(`,"signedIdentity":{}`), `signedIdentity: the type "" is unknown`},
		"unknown identity":     {signed(`,"signedIdentity":{"type":"matchAll"}`), `the type "matchAll" is unknown`},
		"identity too much":    {signed(`,"signedIdentity":{"type":"matchExact","prefix":"a"}`), "matchExact has no prefix"},
		"identity too little":  {signed(`,"signedIdentity":{"type":"remapIdentity","prefix":"a.example"}`), "remapIdentity needs signedPrefix"},
		"identity no tag":      {signed(`,"signedIdentity":{"type":"exactReference","dockerReference":"quay.io/a"}`), "neither a tag nor a digest"},
		"identity no name":     {signed(`,"signedIdentity":{"type":"exactRepository","dockerRepository":"A"}`), "dockerRepository"},
		"identity prefix tag":  {signed(`,"signedIdentity":{"type":"remapIdentity","prefix":"a.example/b:v1","signedPrefix":"b.example"}`), "is not HOST"},
		"identity short":       {signed(`,"signedIdentity":{"type":"remapIdentity","prefix":"a","signedPrefix":"b.example"}`), "is not HOST"},
		"gpg without key":      {docker("quay.io", `{"type":"signedBy","keyType":"GPGKeys"}`), "one of keyPath, keyPaths and keyData"},
		"gpg key type":         {docker("quay.io", `{"type":"signedBy","keyType":"X509Certificates","keyPath":"a"}`), "use GPGKeys"},
		"gpg two keys":         {docker("quay.io", `{"type":"signedBy","keyType":"GPGKeys","keyPath":"a","keyData":"eA=="}`), "only one of"},
		"wildcard inside":      {docker("a.*.example", `{"type":"reject"}`), "wildcard"},
		"wildcard path":        {docker("*.example/a", `{"type":"reject"}`), "wildcard"},
		"scheme":               {docker("docker://quay.io", `{"type":"reject"}`), "scheme"},
		"slash":                {docker("quay.io/", `{"type":"reject"}`), "slash"},
		"large":                {strings.Repeat(" ", MaxSize+1), "more than 1048576 bytes"},
	} {
		_, err := Parse("policy.json", []byte(tc.text), reading(nil))
		if err == nil || !strings.Contains(err.Error(), tc.want) || advice.KindOf(err) != advice.Input {
			t.Errorf("%s: want %q, got %v", name, tc.want, err)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for _, text := range []string{
		`{"default":[{"type":"insecureAcceptAnything"}]}`,
		`{"default":[{"type":"reject"}],"transports":{"docker-daemon":{"":[{"type":"insecureAcceptAnything"}]},"docker":{}}}`,
		docker("quay.io", `{"type":"signedBy","keyType":"GPGKeys","keyPaths":["/absent"]},{"type":"insecureAcceptAnything"}`),
	} {
		if _, err := Parse("p", []byte(text), reading(nil)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	one, two := `{"default":[{"type":"sigstoreSigned","keyPath":"k"}]}`, map[string][]byte{"k": publicKey(rsaOnce())}
	a, b := parse(t, one, map[string][]byte{"k": publicKey(ecOnce())}), parse(t, one, two)
	if a.Digest == b.Digest || b.Digest != parse(t, one, two).Digest {
		t.Error("the digest of a policy does not identify its keys")
	}
}

// TestScopes checks which scope decides.
func TestScopes(t *testing.T) {
	scopes := map[string]string{
		"quay.io/org/name@" + string(dImage): "digest", "quay.io/org/name:v1": "tag", "quay.io/org/name": "repository", "quay.io/org": "namespace",
		"quay.io": "registry", "docker.io/library/busybox": "library", "*.example.com": "wildcard", "*.b.example.com": "subdomain", "r.example.com:5000": "port",
		"*.com": "top", "": "docker",
	}
	var entries []string
	for scope := range scopes {
		entries = append(entries, fmt.Sprintf("%q:[{\"type\":\"reject\"}]", scope))
	}
	p := parse(t, `{"default":[{"type":"reject"}],"transports":{"docker":{`+strings.Join(entries, ",")+`},"oci":{"/data/images":[{"type":"reject"}]}}}`, nil)
	for image, want := range map[string]string{
		"quay.io/org/name@" + string(dImage):    "digest",
		"quay.io/org/name:v1@" + string(dImage): "digest", // the digest decides what is pulled
		"quay.io/org/name:v1":                   "tag",
		"quay.io/org/name:v2":                   "repository",
		"quay.io/org/name/sub:v1":               "repository",
		"quay.io/org/names:v1":                  "namespace",
		"quay.io/organization/x:v1":             "registry",
		"quay.io:443/org/name:v1":               "docker",
		"busybox":                               "library",
		"a.example.com/x:v1":                    "wildcard",
		"a.example.com:8443/x:v1":               "wildcard",
		"a.b.example.com/x:v1":                  "subdomain",
		"example.com/x:v1":                      "top",
		"r.example.com:5000/x:v1":               "port",
		"r.example.com/x:v1":                    "wildcard",
		"localhost/x:v1":                        "docker",
	} {
		ref, err := reference.Parse(image)
		fail.On(t, err)
		_, scope := p.requirements(Image{Reference: ref})
		name, ok := strings.CutPrefix(scope, "docker:")
		if !ok || scopes[name] != want {
			t.Errorf("%s: the scope %q decides, want %s", image, scope, want)
		}
	}
	for dir, want := range map[string]string{"/data/images/a": "oci:/data/images", "/data/images": "oci:/data/images", "/data/imagesx": "default", "/other": "default"} {
		if _, scope := p.requirements(Image{Layout: dir}); scope != want {
			t.Errorf("%s: %s, want %s", dir, scope, want)
		}
	}
	ref, _ := reference.Parse("a.b.example.com:5000/org/name")
	want := []string{"a.b.example.com:5000/org/name:latest", "a.b.example.com:5000/org/name", "a.b.example.com:5000/org", "a.b.example.com:5000", "*.b.example.com", "*.example.com", "*.com"}
	fail.Diff(t, want, Scopes(ref))
}

// TestIdentity compares what each signedIdentity accepts with the table in containers-policy.json(5).
func TestIdentity(t *testing.T) {
	at := "@" + string(dImage)
	for _, tc := range []struct {
		identity, image, signed string
		want                    bool
	}{
		{`{"type":"matchExact"}`, "quay.io/o/n:v1", "quay.io/o/n:v1", true},
		{`{"type":"matchExact"}`, "quay.io/o/n:v1", "quay.io/o/n:v2", false},
		{`{"type":"matchExact"}`, "quay.io/o/n:v1", "quay.io/o/n", false},
		{`{"type":"matchExact"}`, "quay.io/o/n" + at, "quay.io/o/n:v1", false},
		{`{"type":"matchExact"}`, "quay.io/o/n" + at, "quay.io/o/n" + at, true},
		{`{"type":"matchExact"}`, "quay.io/o/n", "quay.io/o/n:latest", true},
		{``, "quay.io/o/n:v1", "quay.io/o/n:v1", true},
		{``, "quay.io/o/n:v1", "quay.io/o/n:v2", false},
		{``, "quay.io/o/n:v1", "quay.io/o/n", false},
		{``, "quay.io/o/n" + at, "quay.io/o/n:v1", true},
		{``, "quay.io/o/n:v1" + at, "quay.io/o/n:v2", true},
		{``, "quay.io/o/n" + at, "quay.io/o/n" + at, true},
		{``, "quay.io/o/n" + at, "quay.io/o/n", false},
		{``, "quay.io/o/n" + at, "quay.io/o/m:v1", false},
		{`{"type":"matchRepository"}`, "quay.io/o/n:v1", "quay.io/o/n", true},
		{`{"type":"matchRepository"}`, "quay.io/o/n:v1", "quay.io/o/n:v9", true},
		{`{"type":"matchRepository"}`, "quay.io/o/n:v1", "quay.io/o/nn", false},
		{`{"type":"matchRepository"}`, "busybox", "docker.io/library/busybox", true},
		{`{"type":"exactReference","dockerReference":"quay.io/a/b:v1"}`, "mirror.example/x:v2", "quay.io/a/b:v1", true},
		{`{"type":"exactReference","dockerReference":"quay.io/a/b:v1"}`, "mirror.example/x:v2", "quay.io/a/b:v2", false},
		{`{"type":"exactReference","dockerReference":"quay.io/a/b:v1"}`, "mirror.example/x:v2", "quay.io/a/b", false},
		{`{"type":"exactRepository","dockerRepository":"quay.io/a/b"}`, "mirror.example/x:v2", "quay.io/a/b", true},
		{`{"type":"exactRepository","dockerRepository":"quay.io/a/b"}`, "mirror.example/x:v2", "mirror.example/x:v2", false},
		{`{"type":"remapIdentity","prefix":"mirror.example/v","signedPrefix":"quay.io"}`, "mirror.example/v/a/b:v1", "quay.io/a/b:v1", true},
		{`{"type":"remapIdentity","prefix":"mirror.example/v","signedPrefix":"quay.io"}`, "mirror.example/v/a/b:v1", "quay.io/a/b:v2", false},
		{`{"type":"remapIdentity","prefix":"mirror.example/v","signedPrefix":"quay.io"}`, "mirror.example/v/a/b" + at, "quay.io/a/b:v2", true},
		{`{"type":"remapIdentity","prefix":"mirror.example/v","signedPrefix":"quay.io"}`, "mirror.example/v/a/b:v1", "mirror.example/v/a/b:v1", false},
		{`{"type":"remapIdentity","prefix":"mirror.example/v","signedPrefix":"quay.io"}`, "mirror.example/vv/b:v1", "mirror.example/vv/b:v1", true},
		{`{"type":"remapIdentity","prefix":"mirror.example:5000","signedPrefix":"quay.io/a"}`, "mirror.example:5000/b:v1", "quay.io/a/b:v1", true},
		{``, "quay.io/o/n:v1", "", false},
		{``, "quay.io/o/n:v1", "http://quay.io", false},
	} {
		i, err := parseIdentity(nil)
		if tc.identity != "" {
			i, err = parseIdentity([]byte(tc.identity))
		}
		fail.On(t, err)
		ref, err := reference.Parse(tc.image)
		fail.On(t, err)
		if err := i.accepts(Image{Reference: ref}, tc.signed); (err == nil) != tc.want {
			t.Errorf("%s of %q for %s: %v", tc.identity, tc.signed, tc.image, err)
		}
	}
	if err := (Identity{Type: MatchRepository}).accepts(Image{Layout: "/x"}, "quay.io/a"); err == nil {
		t.Error("an image in a folder matches a name")
	}
}

// TestUnusableKeys checks that keys are missed only for images that need them.
func TestUnusableKeys(t *testing.T) {
	p := parse(t, docker("quay.io/a", `{"type":"sigstoreSigned","keyPath":"/absent.pub"}`), nil)
	v := Verifier{Policy: p, Finder: &found{}}
	ref, _ := reference.Parse("quay.io/a/b:v1")
	_, err := v.Verify(t.Context(), Image{Reference: ref, Digest: dImage})
	if !errors.Is(err, fs.ErrNotExist) || advice.KindOf(err) != advice.Input || !strings.Contains(err.Error(), "policy.json: docker:quay.io/a: sigstoreSigned: /absent.pub: ") {
		t.Error(err)
	}
	ref, _ = reference.Parse("quay.io/b:v1")
	var refused *RefusedError
	if _, err := v.Verify(t.Context(), Image{Reference: ref, Digest: dImage}); !errors.As(err, &refused) || refused.Scope != "default" {
		t.Error(err)
	}
}
