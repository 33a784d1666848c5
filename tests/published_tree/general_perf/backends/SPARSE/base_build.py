class BaseBuild(object):
    def build(self, options):
        return {"options": options, "sparsity_ratio": 0.75}
