// Package keys reads the keys of people who write and read archives: recipients and identities of age, passphrases,
// and the SSH keys that sign archives and plans, with the policy of who is trusted.
//
// The three main things:
//
//   - NewEncryption returns the recipients that an archive is encrypted to.
//   - ReadIdentities and ReadPassphrase return what opens an encrypted archive.
//   - ArchiveTrust and SigningPolicy say whose signatures are accepted.
//
// The formats of keys and signatures are in packages sshsig and archive. A file with a secret that others
// may read is reported once, by env.WarnExposed.
//
// Keys never reach an error, a log or a plan: errors name the file and the line. This package reads no
// archive and no plan; the rooms that do call it.
//
// Start with SigningPolicy in trust.go.
package keys
