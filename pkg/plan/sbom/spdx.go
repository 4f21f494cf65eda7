package sbom

import (
	"cmp"
	"io"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// The fields of SPDX 2.3 that are used.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		DataLicense   string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Comment       string             `json:"comment,omitempty"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID            string         `json:"SPDXID"`
		Name          string         `json:"name"`
		Version       string         `json:"versionInfo,omitempty"`
		Location      string         `json:"downloadLocation"`
		FilesAnalyzed bool           `json:"filesAnalyzed"`
		Checksums     []spdxChecksum `json:"checksums,omitempty"`
		External      []spdxExternal `json:"externalRefs,omitempty"`
		Purpose       string         `json:"primaryPackagePurpose"`
		Comment       string         `json:"comment,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxExternal struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		Element string `json:"spdxElementId"`
		Type    string `json:"relationshipType"`
		Related string `json:"relatedSpdxElement"`
	}
)

// spdxID begins the identifiers of SPDX.
const spdxID = "SPDXRef-"

// spdxPurposes are what parts are for.
var spdxPurposes = map[kind]string{
	planKind: "OTHER", catalogKind: "OTHER", packageKind: "APPLICATION", bundleKind: "APPLICATION", releaseKind: "OPERATING_SYSTEM", chartKind: "APPLICATION",
	fileKind: "FILE", imageKind: "CONTAINER",
}

// SPDX writes the bill of materials of a plan as SPDX 2.3.
func SPDX(w io.Writer, p *plan.Plan, o Options) error {
	all, err := parts(p)
	if err != nil {
		return err
	}
	created := o.Created
	if created.IsZero() {
		created = time.Unix(0, 0)
	}
	version := cmp.Or(o.Version, "unknown")
	d := spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: spdxID + "DOCUMENT", Name: p.Name, Namespace: "urn:uuid:" + identifier(all[0].sum),
		Creation: spdxCreation{created.UTC().Format(time.RFC3339), []string{"Tool: gantry-" + version}},
		Packages: []spdxPackage{}, Relationships: []spdxRelationship{{spdxID + "DOCUMENT", "DESCRIBES", spdxID + all[0].id}},
	}
	for _, one := range all {
		d.Packages = append(d.Packages, spdxPart(one))
		relation := "CONTAINS"
		if one.kind == bundleKind || one.kind == chartKind {
			relation = "DEPENDS_ON"
		}
		for _, other := range one.needs {
			d.Relationships = append(d.Relationships, spdxRelationship{spdxID + one.id, relation, spdxID + other})
		}
		for _, a := range one.attached {
			d.Relationships = append(d.Relationships, spdxRelationship{spdxID + a.part.id, "METAFILE_OF", spdxID + one.id})
		}
	}
	return encode(w, d)
}

// spdxPart returns a part as a package.
func spdxPart(p *part) spdxPackage {
	s := spdxPackage{ID: spdxID + p.id, Name: p.name, Version: p.version, Location: "NOASSERTION", Purpose: spdxPurposes[p.kind]}
	if p.sum != "" && p.sum.Validate() == nil {
		algorithm := cmp.Or(map[digest.Algorithm]string{digest.SHA384: "SHA384", digest.SHA512: "SHA512"}[p.sum.Algorithm()], "SHA256")
		s.Checksums = []spdxChecksum{{algorithm, p.sum.Encoded()}}
	}
	if p.purl != "" {
		s.External = append(s.External, spdxExternal{"PACKAGE-MANAGER", "purl", p.purl})
	}
	if p.advisory != "" {
		s.External = append(s.External, spdxExternal{"SECURITY", "advisory", p.advisory})
	}
	lines := elements.Map(p.properties, func(one property) string { return one.name + "=" + one.value })
	s.Comment = strings.Join(lines, "\n")
	return s
}
