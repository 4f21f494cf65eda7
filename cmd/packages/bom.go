package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

const ownLicense = "Apache-2.0"

// billOfMaterials returns the bill of materials of a program as CycloneDX 1.6: Go's standard library and the
// modules that the program was built with.
func (r *release) billOfMaterials(name string, program []byte, build *buildinfo.BuildInfo) ([]byte, error) {
	sum := sha256.Sum256(program)
	var target []string
	for _, s := range build.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" {
			target = append(target, strings.ToLower(s.Key)+"="+s.Value)
		}
	}
	main := cdx.Component{
		Type: cdx.ComponentTypeApplication, Name: name, Version: r.version, BOMRef: purl(build.Path, r.version) + "?" + strings.Join(target, "&"),
		Hashes:             &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Licenses:           &cdx.Licenses{{License: &cdx.License{ID: ownLicense}}},
		ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeVCS, URL: homepage, Comment: r.revision}},
	}
	main.PackageURL = main.BOMRef
	components := []cdx.Component{library("std", strings.TrimPrefix(build.GoVersion, "go"), "", r.license["std"].id)}
	for _, m := range build.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		version, license := m.Version, r.license[m.Path+"@"+m.Version].id
		if m.Sum == "" { // the module of the repository, which has its version
			m.Path, version, license = build.Main.Path, r.version, ownLicense
		}
		components = append(components, library(m.Path, version, m.Sum, license))
	}
	needs := []string{}
	dependencies := []cdx.Dependency{{Ref: main.BOMRef, Dependencies: &needs}}
	for _, c := range components {
		needs = append(needs, c.BOMRef)
		dependencies = append(dependencies, cdx.Dependency{Ref: c.BOMRef})
	}
	bill := cdx.NewBOM()
	bill.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, append([]byte(main.BOMRef), sum[:]...)).URN()
	bill.Metadata = &cdx.Metadata{Timestamp: r.modified.Format(time.RFC3339), Component: &main}
	bill.Components, bill.Dependencies = &components, &dependencies
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bill, cdx.SpecVersion1_6)
	return b.Bytes(), err
}

// library returns a module as a component. Its sum is the one of go.sum, which is not the hash of a file.
func library(path, version, sum, license string) cdx.Component {
	c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: path, Version: version, BOMRef: purl(path, version)}
	if strings.Contains(license, " ") {
		c.Licenses = &cdx.Licenses{{Expression: license}}
	} else {
		c.Licenses = &cdx.Licenses{{License: &cdx.License{ID: license}}}
	}
	c.PackageURL = c.BOMRef
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}

// purl returns the package URL of a module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
