"""Companies beside the installation's own, each with an admin."""

A, B = "alpha", "beta"
OURS = "0255501001"


class Member:
    """Somebody with an admin key of a company."""

    def __init__(self, server, slug):
        self.server, self.slug = server, slug
        status, made = server.request("POST", "/api/companies", {"slug": slug, "name": f"The {slug}"})
        assert status == 201 and made["webhook_secret"].startswith("whsec_"), made
        as_company = {"X-Company": slug}
        status, key = server.request("POST", "/api/keys", {"name": "boss", "role": "admin"}, headers=as_company)
        assert status == 201, key
        self.key, self.key_id = key["key"], key["id"]

    def request(self, method, path, body=None, **options):
        return self.server.request(method, path, body, key=self.key, **options)

    def get(self, path):
        status, answer = self.request("GET", path)
        assert status == 200, answer
        return answer

    def post(self, path, body):
        status, answer = self.request("POST", path, body)
        assert status in (201, 202), answer
        return answer
