// Package profiletest has a registry for tests that behaves as registries do that cannot run in a test: Quay, Harbor and
// others.
//
// The Server is one registry in memory. By itself it follows the distribution specification 1.1 to the letter. A Profile
// is data: a list of Traits: each is one difference with the place that documents it, the source of the registry
// if that is public, else its documentation or a report of what it sent. What no source says is left as specified.
//
//	Profile -> Traits -> rules of a Server -> registrytest.Serve, with its log, faults and TLS
//
// Some traits depend on how a registry was set up. Tags that begin with Locked are immutable in profiles that have
// immutable tags, Create makes a repository or project exist, Fill uses up the quota, Age makes an hour pass, Protect asks
// for credentials, and Expire ends tokens.
package profiletest

// Locked is how tags begin that cannot be moved in profiles with immutable tags.
const Locked = "locked"

// A Profile is how a registry differs from one that follows the distribution specification.
type Profile struct {
	Name   string
	Traits []Trait
}

// A Trait is one difference.
type Trait struct {
	What   string
	Source string // URL
	apply  func(*rules)
}

// The versions of public sources.
const (
	quay   = "https://github.com/quay/quay/blob/ffba0c70e2d8d522290a4fbbaa704dbf2fc37f34/"
	harbor = "https://github.com/goharbor/harbor/blob/c50c7ddd6ea4e335a480b49c618281882ab7eec9/src/"

	gitea          = "https://github.com/go-gitea/gitea/blob/"
	giteaContainer = gitea + "9548a9a28f924e8d46a13ebcb8730643e2d79ca2/routers/api/packages/container/container.go"
	giteaErrors    = gitea + "146b1747deb67cd3750ace786ae7c5eb11bdb0bc/routers/api/packages/container/errors.go"
	giteaManifest  = gitea + "0735d3c4965f088c787923cb0b6a763f4138f231/routers/api/packages/container/manifest.go"
)

// Profiles are the registries that are modelled.
func Profiles() []Profile {
	return []Profile{
		{"Quay", append(quayTraits(), quayCredentials()...)},
		{"Harbor", append(harborTraits(), harborCredentials()...)},
		{"Gitea", append(giteaTraits(), giteaCredentials()...)},
		{"Nexus", append(nexusTraits(), nexusCredentials()...)},
		{"Nexus with tokens", append(nexusTraits(), nexusTokens()...)},
		{"Artifactory", append(artifactoryTraits(), artifactoryCredentials()...)},
		{"ECR", append(ecrTraits(), ecrCredentials()...)},
		{"ECR of 2022", append(earlierECRTraits(), ecrCredentials()...)},
		{"GHCR", append(ghcrTraits(), ghcrCredentials()...)},
	}
}
