package webconfig

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// The words of client_auth_type.
var clientAuth = map[string]tls.ClientAuthType{
	"":                           tls.NoClientCert,
	"NoClientCert":               tls.NoClientCert,
	"RequestClientCert":          tls.RequestClientCert,
	"RequireAnyClientCert":       tls.RequireAnyClientCert,
	"RequireClientCert":          tls.RequireAnyClientCert, // the former name
	"VerifyClientCertIfGiven":    tls.VerifyClientCertIfGiven,
	"RequireAndVerifyClientCert": tls.RequireAndVerifyClientCert,
}

// The words of min_version and max_version.
var versions = map[string]uint16{
	"TLS10": tls.VersionTLS10, "TLS11": tls.VersionTLS11, "TLS12": tls.VersionTLS12, "TLS13": tls.VersionTLS13,
}

// The words of curve_preferences.
var curves = map[string]tls.CurveID{
	"CurveP256": tls.CurveP256, "CurveP384": tls.CurveP384, "CurveP521": tls.CurveP521, "X25519": tls.X25519,
	"X25519MLKEM768": tls.X25519MLKEM768,
}

// setTLS sets the configuration of TLS; none if the section is missing.
func (c *Config) setTLS(r *reader, s *tlsSection) error {
	if s == nil {
		return nil
	}
	cert, err := oneOf(r, "cert", s.Cert, s.CertFile)
	if err != nil {
		return err
	}
	key, err := oneOf(r, "key", s.Key, s.KeyFile)
	if err != nil {
		return err
	}
	if cert == nil || key == nil {
		return errors.New("want cert_file and key_file")
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("cert and key: %w", err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS13}
	if err := setVersions(t, s); err != nil {
		return err
	}
	if err := setClients(t, r, s); err != nil {
		return err
	}
	c.tls = t
	return nil
}

// oneOf returns the bytes of a text in the file, or of the file that stands for it; nil if there is
// neither.
func oneOf(r *reader, name, text, file string) ([]byte, error) {
	switch {
	case text != "" && file != "":
		return nil, fmt.Errorf("%s and %s_file are given: one of them is possible", name, name)
	case text != "":
		return []byte(text), nil
	case file != "":
		data, err := r.read(file)
		if err != nil {
			return nil, fmt.Errorf("%s_file: %w", name, err)
		}
		return data, nil
	}
	return nil, nil
}

// setVersions sets versions, cipher suites and curves.
func setVersions(t *tls.Config, s *tlsSection) error {
	for _, v := range []struct {
		key, word string
		to        *uint16
	}{{"min_version", s.MinVersion, &t.MinVersion}, {"max_version", s.MaxVersion, &t.MaxVersion}} {
		if v.word == "" {
			continue
		}
		version, ok := versions[v.word]
		if !ok {
			return fmt.Errorf("%s %q: want TLS10, TLS11, TLS12 or TLS13", v.key, v.word)
		}
		*v.to = version
	}
	if t.MinVersion > t.MaxVersion {
		return errors.New("min_version is above max_version")
	}
	for _, name := range s.CipherSuites {
		i := slices.IndexFunc(tls.CipherSuites(), func(c *tls.CipherSuite) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("cipher_suites: %q is unknown, or is not safe", name)
		}
		t.CipherSuites = append(t.CipherSuites, tls.CipherSuites()[i].ID)
	}
	for _, name := range s.Curves {
		curve, ok := curves[name]
		if !ok {
			return fmt.Errorf("curve_preferences: %q is unknown", name)
		}
		t.CurvePreferences = append(t.CurvePreferences, curve)
	}
	return nil
}

// setClients sets which certificates clients need.
func setClients(t *tls.Config, r *reader, s *tlsSection) error {
	auth, ok := clientAuth[s.ClientAuth]
	if !ok {
		return fmt.Errorf("client_auth_type %q: want NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert", s.ClientAuth)
	}
	t.ClientAuth = auth
	ca, err := oneOf(r, "client_ca", s.ClientCA, s.ClientCAFile)
	switch {
	case err != nil:
		return err
	case ca != nil && auth == tls.NoClientCert:
		return errors.New("client_ca_file is given, and no client_auth_type: certificates would not be asked for")
	case ca == nil && auth >= tls.VerifyClientCertIfGiven:
		return fmt.Errorf("client_auth_type %s needs client_ca_file", s.ClientAuth)
	case ca != nil:
		t.ClientCAs = x509.NewCertPool()
		if !t.ClientCAs.AppendCertsFromPEM(ca) {
			return errors.New("client_ca_file holds no certificate in PEM")
		}
	}
	if auth != tls.NoClientCert {
		// A ticket would let a client in again whose certificate is not taken any more.
		t.SessionTicketsDisabled = true
	}
	if allowed := s.ClientSANs; len(allowed) > 0 {
		t.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return nil // client_auth_type says whether there must be one
			}
			if slices.ContainsFunc(allowed, func(san string) bool { return hasSAN(state.PeerCertificates[0], san) }) {
				return nil
			}
			return errors.New("none of the certificate's names is in client_allowed_sans")
		}
	}
	return nil
}

// hasSAN reports whether a certificate is for a name: a DNS name, an address, a mail address or a
// URI.
func hasSAN(cert *x509.Certificate, name string) bool {
	if slices.Contains(cert.DNSNames, name) || slices.Contains(cert.EmailAddresses, name) {
		return true
	}
	for _, ip := range cert.IPAddresses {
		if ip.String() == name {
			return true
		}
	}
	for _, u := range cert.URIs {
		if u.String() == name {
			return true
		}
	}
	return false
}

// The headers that a file may set, and the values that some of them must have; nil: any.
var allowedHeaders = map[string][]string{
	"Strict-Transport-Security": nil,
	"X-Content-Type-Options":    {"nosniff"},
	"X-Frame-Options":           {"deny", "sameorigin"},
	"X-Xss-Protection":          nil,
	"Content-Security-Policy":   nil,
}

// setHTTP sets whether HTTP/2 is spoken, and the headers of answers.
func (c *Config) setHTTP(s *httpSection) error {
	if s == nil {
		return nil
	}
	if s.HTTP2 != nil {
		c.http2 = *s.HTTP2
	}
	for name, value := range s.Headers {
		name = http.CanonicalHeaderKey(name)
		values, ok := allowedHeaders[name]
		switch {
		case !ok:
			return fmt.Errorf("headers: %s cannot be set", name)
		case value == "" || strings.ContainsAny(value, "\r\n"):
			return fmt.Errorf("headers: the value of %s is empty or has a line end", name)
		case values != nil && !slices.Contains(values, strings.ToLower(value)):
			return fmt.Errorf("headers: %s must be one of %s", name, strings.Join(values, ", "))
		}
		c.headers.Set(name, value)
	}
	return nil
}
