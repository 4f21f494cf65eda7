package view

import (
	"net/url"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// A SARIF is a log of the Static Analysis Results Interchange Format, version 2.1.0 (OASIS), which editors and forges show
// beside the lines of a file. It has only the fields that Gantry fills.
type SARIF struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string    `json:"id"`
	Short sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule      string          `json:"ruleId"`
	Level     string          `json:"level"` // error or warning
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"` // relative to the working directory, unless the path was absolute
}

type sarifRegion struct {
	Line   int `json:"startLine"` // from 1
	Column int `json:"startColumn,omitempty"`
}

// The rules of a SARIF.
const (
	sarifInvalid = "invalid-configuration"
	sarifAdvised = "advised-configuration"
)

// ConfigCheckSARIF returns the problems of configurations as errors, and their warnings as warnings. version is the one of
// Gantry.
func ConfigCheckSARIF(c *config.Checked, version string) *SARIF {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{"gantry", version, "https://github.com/gantry-mirror/gantry", []sarifRule{
			{sarifInvalid, sarifText{"A configuration that cannot be used"}}, {sarifAdvised, sarifText{"Text that is read and should be corrected"}},
		}}},
		Results: []sarifResult{},
	}
	for _, f := range c.Files {
		for _, p := range f.Problems {
			run.Results = append(run.Results, sarifOf(f.File, sarifInvalid, "error", p))
		}
		for _, p := range f.Warnings {
			run.Results = append(run.Results, sarifOf(f.File, sarifAdvised, "warning", p))
		}
	}
	return &SARIF{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

func sarifOf(file, rule, level string, p selection.ConfigProblem) sarifResult {
	at := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		at.Scheme = "file"
	}
	place := sarifPhysical{Artifact: sarifArtifact{at.String()}}
	if p.Line > 0 {
		place.Region = &sarifRegion{p.Line, p.Column}
	}
	return sarifResult{rule, level, sarifText{joined("; ", p.Message, p.Hint)}, []sarifLocation{{place}}}
}
