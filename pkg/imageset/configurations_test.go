package imageset_test

// byPlatforms selects a single payload and platforms, which exclude channels and architectures.
const byPlatforms = `apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  platform:
    platforms: [{os: linux, architecture: arm64}]
    release: quay.io/a/release:4.20.5-multi
    tools: {names: [oc, oc-mirror], platforms: [linux/arm64], bootImages: [metal/iso]}
`

// byTag selects tags, and images that bundles do not list.
const byTag = `apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  operators:
  - {catalog: quay.io/a/catalog:v1, targetClusterCatalogTemplate: cc.yaml, relatedImages: complete, platforms: [{os: linux, architecture: amd64}], platformsMode: rewrite}
  additionalImages:
  - {name: quay.io/a/c:v1, platforms: [{os: linux, architecture: amd64}], platformsMode: sparse}
  - name: quay.io/a/b
    tags: {regex: v1.*, semver: ">=1", exclude: [.*-rc], newest: 3, olderThan: 7d, newerThan: 2026-01-31, allowNone: true}
`
