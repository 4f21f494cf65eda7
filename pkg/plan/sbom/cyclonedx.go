package sbom

import (
	"cmp"
	"encoding/json"
	"io"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
)

// Options say how a bill of materials is written.
type Options struct {
	// Version is the version of Gantry, which is named as the author.
	Version string
	// Created is the time of the document. CycloneDX has none if it is zero; SPDX, which requires one, then has the
	// beginning of 1970.
	Created time.Time
}

// The fields of CycloneDX 1.6 that are used.
type (
	cdxDocument struct {
		Schema       string          `json:"$schema"`
		BOMFormat    string          `json:"bomFormat"`
		SpecVersion  string          `json:"specVersion"`
		SerialNumber string          `json:"serialNumber"`
		Version      int             `json:"version"`
		Metadata     cdxMetadata     `json:"metadata"`
		Components   []cdxComponent  `json:"components"`
		Dependencies []cdxDependency `json:"dependencies"`
	}
	cdxMetadata struct {
		Timestamp string       `json:"timestamp,omitempty"`
		Tools     cdxTools     `json:"tools"`
		Component cdxComponent `json:"component"`
	}
	cdxTools struct {
		Components []cdxComponent `json:"components"`
	}
	cdxComponent struct {
		Type       string         `json:"type"`
		Ref        string         `json:"bom-ref,omitempty"`
		Name       string         `json:"name"`
		Version    string         `json:"version,omitempty"`
		Hashes     []cdxHash      `json:"hashes,omitempty"`
		PURL       string         `json:"purl,omitempty"`
		References []cdxReference `json:"externalReferences,omitempty"`
		Properties []cdxProperty  `json:"properties,omitempty"`
	}
	cdxHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	cdxReference struct {
		Type    string    `json:"type"`
		URL     string    `json:"url"`
		Comment string    `json:"comment,omitempty"`
		Hashes  []cdxHash `json:"hashes,omitempty"`
	}
	cdxProperty struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	cdxDependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// cdxTypes are the types of components.
var cdxTypes = map[kind]string{
	planKind: "application", catalogKind: "data", packageKind: "application", bundleKind: "application", releaseKind: "platform", chartKind: "application",
	fileKind: "file", imageKind: "container",
}

// cdxAttached are the types of references to what belongs to an image.
var cdxAttached = map[plan.ImageKind]string{
	plan.SBOMImage: "bom", plan.AttestationImage: "attestation", plan.SignatureImage: "digital-signature", plan.ReferrerImage: "other",
}

// CycloneDX writes the bill of materials of a plan as CycloneDX 1.6.
func CycloneDX(w io.Writer, p *plan.Plan, o Options) error {
	all, err := parts(p)
	if err != nil {
		return err
	}
	d := cdxDocument{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", BOMFormat: "CycloneDX", SpecVersion: "1.6", SerialNumber: "urn:uuid:" + identifier(all[0].sum), Version: 1,
		Metadata:   cdxMetadata{Tools: cdxTools{[]cdxComponent{{Type: "application", Name: "gantry", Version: o.Version}}}, Component: cdxPart(all[0])},
		Components: []cdxComponent{}, Dependencies: []cdxDependency{},
	}
	if !o.Created.IsZero() {
		d.Metadata.Timestamp = o.Created.UTC().Format(time.RFC3339)
	}
	for i, one := range all {
		if i > 0 {
			d.Components = append(d.Components, cdxPart(one))
		}
		d.Dependencies = append(d.Dependencies, cdxDependency{one.id, one.needs})
	}
	return encode(w, d)
}

// cdxPart returns a part as a component.
func cdxPart(p *part) cdxComponent {
	c := cdxComponent{Type: cdxTypes[p.kind], Ref: p.id, Name: p.name, Version: p.version, PURL: p.purl, Hashes: cdxHashes(p.sum)}
	if p.advisory != "" {
		c.References = append(c.References, cdxReference{Type: "advisories", URL: p.advisory})
	}
	for _, a := range p.attached {
		c.References = append(c.References, cdxReference{Type: cdxAttached[a.kind], URL: a.part.purl, Comment: string(a.kind) + " " + a.part.id, Hashes: cdxHashes(a.part.sum)})
	}
	for _, one := range p.properties {
		c.Properties = append(c.Properties, cdxProperty{one.name, one.value})
	}
	return c
}

func cdxHashes(d digest.Digest) []cdxHash {
	if d == "" || d.Validate() != nil {
		return nil
	}
	algorithm := cmp.Or(map[digest.Algorithm]string{digest.SHA384: "SHA-384", digest.SHA512: "SHA-512"}[d.Algorithm()], "SHA-256")
	return []cdxHash{{algorithm, d.Encoded()}}
}

// identifier returns a UUID (version 8) made of a digest.
func identifier(d digest.Digest) string {
	h := []byte(d.Encoded()[:32])
	h[12], h[16] = '8', "89ab"[h[16]%4]
	return string(h[:8]) + "-" + string(h[8:12]) + "-" + string(h[12:16]) + "-" + string(h[16:20]) + "-" + string(h[20:])
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(v)
}
